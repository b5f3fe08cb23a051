"""How decks say "page": one small plugin a convention."""
