// What the scripts of a page share: its elements, SVG, tooltips.
const Page = {};

Page.byId = (id) => document.getElementById(id);

Page.values = {}; // for pictures that have no table beside them: name -> a function that returns its lines

// A name, or its beginning and its end: names of a table often differ in their last characters.
Page.shorten = function (name, most) {
  if (name.length <= most) return name;
  const end = Math.floor((most - 1) / 2);
  return name.slice(0, most - 1 - end).trimEnd() + "…" + name.slice(name.length - end).trimStart();
};

Page.svg = function (name, attributes, parent, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
};

// A tooltip inside `frame`: lines of text beside the place (x, y), in pixels of the frame, and never outside of it.
Page.showTip = function (tip, frame, x, y, lines) {
  tip.replaceChildren();
  lines.forEach((text, i) => {
    const node = document.createElement(i ? "span" : "b");
    node.textContent = text;
    tip.appendChild(node);
  });
  tip.hidden = false;
  const width = frame.clientWidth;
  const left = x + 14 + tip.offsetWidth > width - 6 ? x - 14 - tip.offsetWidth : x + 14;
  tip.style.left = Math.max(4, Math.min(left, width - tip.offsetWidth - 6)) + "px";
  tip.style.top = Math.max(4, y - tip.offsetHeight - 10) + "px";
};
