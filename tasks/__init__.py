"""What is to be done: the Task contract, mining, languages, and the trial of a change."""
