// Runs in an isolated world: it shares the document with the page but none of the page's script objects, so what a
// page overrides (getBoundingClientRect, getComputedStyle, …) is not what is called here. Document members are taken
// from the prototype, because `<img name="body">` shadows them in every world.
(() => {
  const member = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const $$ = (selector) => [...Document.prototype.querySelectorAll.call(document, selector)];
  const body = () => $$("body")[0] || document.documentElement;
  const style = (element) => window.getComputedStyle(element);
  const rect = (element) => Element.prototype.getBoundingClientRect.call(element);
  const contains = (outer, inner) => Node.prototype.contains.call(outer, inner);
  const within = (promise, ms) => Promise.race([promise, new Promise((done) => setTimeout(done, ms))]);
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const state = { pages: [], sheets: new Map(), undo: { shown: [], ink: [] } };

  const roots = () => {
    const found = [document];
    for (const element of $$("*")) if (element.shadowRoot) found.push(element.shadowRoot);
    return found;
  };

  const sheet = (name, text) => {
    if (text === null) {
      for (const [root, added] of state.sheets.get(name) || [])
        root.adoptedStyleSheets = root.adoptedStyleSheets.filter((each) => each !== added);
      state.sheets.delete(name);
      return;
    }
    const added = roots().map((root) => {
      const one = new CSSStyleSheet();
      one.replaceSync(text);
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, one];
      return [root, one];
    });
    state.sheets.set(name, added);
  };

  const override = (sort, element, values) => {
    const before = element.getAttribute("style");
    for (const [name, value] of Object.entries(values)) element.style.setProperty(name, value, "important");
    state.undo[sort].push(() => (before === null ? element.removeAttribute("style") : element.setAttribute("style", before)));
  };

  const restore = (sort) => {
    while (state.undo[sort].length) state.undo[sort].pop()();
  };

  // Ends what moves: finite animations at their end, endless ones at their start.
  const still = () => {
    for (const animation of Document.prototype.getAnimations.call(document)) {
      try {
        animation.finish();
      } catch {
        animation.cancel();
      }
    }
    for (const svg of $$("svg")) {
      svg.pauseAnimations();
      svg.setCurrentTime(0);
    }
    for (const video of $$("video")) video.pause();
  };

  const loaded = (ms) =>
    within(
      Promise.all([
        member("fonts").ready,
        ...$$("img").filter((image) => image.loading !== "lazy").map((image) => image.decode().catch(() => {})),
      ]),
      ms,
    ).then(() => true);

  const find = (name) => {
    const pages = conventions[name]($$, { rect, style, body });
    state.pages = pages;
    return pages.length;
  };
  const conventions = {};

  // The page whose own box lies under most of nine points of the viewport; -1 where none does.
  const active = () => {
    const votes = new Map();
    for (const fx of [0.25, 0.5, 0.75])
      for (const fy of [0.25, 0.5, 0.75]) {
        const x = fx * innerWidth, y = fy * innerHeight;
        const hit = Document.prototype.elementsFromPoint.call(document, x, y);
        let index = state.pages.findIndex((page) => hit[0] && contains(page, hit[0]));
        if (index < 0) index = state.pages.findIndex((page) => hit.includes(page));
        if (index >= 0) votes.set(index, (votes.get(index) || 0) + 1);
      }
    let best = -1;
    for (const [index, count] of votes) if (best < 0 || count > votes.get(best)) best = index;
    return best;
  };

  const visible = (k) => {
    const page = state.pages[k];
    if (!page.isConnected || !page.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const box = rect(page);
    const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0);
    const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
    return width > 8 && height > 8;
  };

  const scroll = (k) => {
    state.pages[k].scrollIntoView({ behavior: "instant", block: "start", inline: "start" });
  };

  // Where the deck's own way does not lead to page k: hide the other pages and lift what hides this one.
  const force = (k) => {
    const page = state.pages[k];
    state.pages.forEach((other, index) => {
      if (index !== k && !contains(other, page) && !contains(page, other)) override("shown", other, { display: "none" });
    });
    for (let each = page; each && each !== document.documentElement; each = each.parentElement) {
      const seen = style(each);
      const values = {};
      if (seen.display === "none") values.display = "block";
      if (seen.visibility !== "visible") values.visibility = "visible";
      if (seen.opacity === "0") values.opacity = "1";
      if (Object.keys(values).length) override("shown", each, values);
    }
    if (!visible(k)) override("shown", page, { transform: "none", left: "0", top: "0", position: "absolute" });
    scroll(k);
  };

  const boxOf = (k) => {
    const box = rect(state.pages[k]);
    return { x: box.x, y: box.y, width: box.width, height: box.height };
  };

  const text = (k) => {
    const lines = [];
    const walker = Document.prototype.createTreeWalker.call(document, state.pages[k], NodeFilter.SHOW_TEXT);
    const range = Document.prototype.createRange.call(document);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (!node.data.trim() || !node.parentElement.checkVisibility({ visibilityProperty: true })) continue;
      range.selectNodeContents(node);
      for (const each of range.getClientRects()) if (each.width > 1 && each.height > 1) lines.push(each);
    }
    return lines;
  };

  // What the words and the media of page k need, clipping lifted: pure decoration that bleeds off is no content.
  const natural = (k) => {
    sheet("lift", LIFT);
    const rects = text(k);
    for (const each of state.pages[k].querySelectorAll("img, video, canvas, table, pre, iframe"))
      if (style(each).position !== "absolute" && each.checkVisibility({ visibilityProperty: true })) rects.push(rect(each));
    sheet("lift", null);
    const tops = rects.map((each) => each.top), bottoms = rects.map((each) => each.bottom);
    const lefts = rects.map((each) => each.left), rights = rects.map((each) => each.right);
    return { top: Math.min(...tops, 1e9), bottom: Math.max(...bottoms, -1e9), left: Math.min(...lefts, 1e9), right: Math.max(...rights, -1e9) };
  };
  const LIFT = `*, *::before, *::after { overflow: visible !important; -webkit-line-clamp: none !important;
    text-overflow: clip !important; clip-path: none !important; transition: none !important; }`;

  const INK = `*, *::before, *::after, *::marker, *::placeholder { color: transparent !important;
    -webkit-text-fill-color: transparent !important; -webkit-text-stroke-color: transparent !important;
    text-shadow: none !important; text-decoration-color: transparent !important; caret-color: transparent !important;
    text-emphasis-color: transparent !important; transition: none !important; }
    svg text, svg text * { fill: transparent !important; stroke: transparent !important; }`;
  const TEXT_COLOURS = ["color", "-webkit-text-fill-color", "fill", "text-shadow"];

  // Inline `!important` wins over any sheet, and text clipped from a background takes no colour: both element by element.
  const textAway = () => {
    sheet("ink", INK);
    for (const root of roots())
      for (const element of root.querySelectorAll("*")) {
        const values = {};
        if (element.style && element.style.length)
          for (const name of TEXT_COLOURS)
            if (element.style.getPropertyPriority(name) === "important")
              values[name] = name === "text-shadow" ? "none" : "transparent";
        const clip = style(element).backgroundClip;
        if (clip && clip.includes("text")) {
          values["background-image"] = "none";
          values["background-color"] = "transparent";
        }
        if (Object.keys(values).length) override("ink", element, { ...values, transition: "none" });
      }
  };
  const textBack = () => {
    restore("ink");
    sheet("ink", null);
  };

  const BUTTON = "button, a, [role=button], [onclick], input[type=button]";
  const WAYS = {
    next: /(^|[^a-z])(next|forward|right)([^a-z]|$)|下一|次へ|→|▶|›|»|❯/i,
    previous: /(^|[^a-z])(prev|previous|back|left)([^a-z]|$)|上一|前へ|←|◀|‹|«|❮/i,
  };
  const ways = () => {
    const found = [];
    for (const element of $$(BUTTON)) {
      const label = (element.innerText || element.value || element.getAttribute("aria-label") || element.title || "").trim();
      if (label.length > 40) continue;
      const box = rect(element);
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || box.width < 1) continue;
      const hints = `${label} ${element.getAttribute("aria-label") || ""} ${element.title} ${element.id} ${element.getAttribute("class") || ""}`
        .replaceAll(/([a-z])([A-Z])/g, "$1 $2");
      const direction = WAYS.next.test(hints) ? "next" : WAYS.previous.test(hints) ? "previous" : "";
      if (!direction) continue;
      found.push({ direction, label, x: box.x, y: box.y, width: box.width, height: box.height, path: path(element) });
    }
    return found.slice(0, 8);
  };
  const path = (element) => {
    const parts = [];
    for (let each = element; each && each.nodeType === 1; each = each.parentElement) {
      const twins = each.parentElement ? [...each.parentElement.children].filter((one) => one.localName === each.localName) : [each];
      parts.unshift(twins.length > 1 ? `${each.localName}:nth-of-type(${twins.indexOf(each) + 1})` : each.localName);
    }
    return parts.join(" > ");
  };
  const scrolls = () => {
    const boxes = state.pages.map(rect);
    return boxes.length > 1 && boxes.every((box, k) => !k || box.top >= boxes[k - 1].bottom - 2) && boxes[0].height > 8;
  };

  const size = () => Document.prototype.getElementsByTagName.call(document, "*").length;

  self.deck = { size, state, conventions, find, active, visible, scroll, force, restore, boxOf, natural, textAway, textBack, still, loaded, frame, ways, scrolls };
})();
