// What a picture says below itself when it leaves the page: what its marks and colours mean, and how sure it is.
(function () {
  "use strict";
  const LINE = 20, GAP = 14, SIZE = 11, BOX = 12, RAMP = 120;

  // The drawings and words of a legend entry, in their order.
  function parts(node) {
    const found = [];
    node.childNodes.forEach((child) => {
      const words = child.textContent.trim().replace(/\s+/g, " ");
      if (child.nodeType === Node.TEXT_NODE) {
        if (words) found.push({ words, bold: node.tagName === "B" });
      } else if (child.nodeType !== Node.ELEMENT_NODE || child.matches(".sr, .hint")) return;
      else if (child.matches("svg")) found.push({ drawing: child, wide: child.getBoundingClientRect().width || 16 });
      else if (child.matches("i")) found.push({ patch: child, wide: child.matches(".ramp") ? RAMP : BOX });
      else if (child.matches("small")) found.push({ words: `(${child.firstChild.textContent.trim()})` });
      else found.push(...parts(child));
    });
    return found;
  }

  // The legends of a figure, each a list of entries: its groups, the scale of its colours, its annotations.
  function legends(figure) {
    const groups = [figure.querySelector(".legend"), ...beside(figure, "previous"), ...beside(figure, "next")];
    const lists = groups.filter(Boolean).slice(0, 1).map((legend) => [...legend.children]);
    figure.querySelectorAll(".scale").forEach((scale) => lists.push([...scale.children]));
    figure.querySelectorAll(".keys").forEach((keys) => lists.push([...keys.children]));
    return lists.map((list) => list.map((child) => (child.matches("i") ? parts({ childNodes: [child] }) : parts(child))));
  }

  // The legend that stands before or after a figure, with nothing but tools in between.
  function beside(figure, way) {
    let node = figure[way + "ElementSibling"];
    while (node && node.matches(".tools, .saves")) node = node[way + "ElementSibling"];
    return node && node.matches(".legend") ? [node] : [];
  }

  // The colours of a patch: one, or those of a gradient.
  function colours(patch) {
    const style = getComputedStyle(patch);
    return style.backgroundImage.match(/rgba?\([^)]*\)/g) || [style.backgroundColor];
  }

  // Draws the legends and the caveat below a picture that takes `view` (x, y, width, height), into `copy`; `styled` copies
  // a node with its styles. Returns the height of what was drawn.
  Page.legendsBelow = function (figure, copy, view, styled) {
    const body = getComputedStyle(document.body), measure = document.createElement("canvas").getContext("2d");
    const left = view[0] + 8, right = view[0] + view[2] - 8;
    let x = left, y = view[1] + view[3] + 4;
    const feed = () => { if (x > left) { x = left; y += LINE; } };
    const font = (bold) => { measure.font = `${bold ? 600 : 400} ${SIZE}px ${body.fontFamily}`; };
    const width = (part) => { font(part.bold); return part.words === undefined ? part.wide : measure.measureText(part.words).width; };

    function draw(part) {
      const middle = y + LINE / 2;
      if (part.drawing) {
        const node = copy.appendChild(styled(part.drawing));
        const box = { x, y: middle - part.wide / 2, width: part.wide, height: part.wide };
        for (const name in box) node.setAttribute(name, box[name]);
      } else if (part.patch && getComputedStyle(part.patch).borderTopWidth !== "0px") {
        const style = getComputedStyle(part.patch), round = style.borderTopLeftRadius === "50%";
        const place = { x, y: middle - (round ? BOX / 2 : 0), width: BOX, height: round ? BOX : 0, rx: round ? BOX / 2 : 0 };
        Page.svg("rect", { ...place, fill: "none", stroke: style.borderTopColor, "stroke-width": style.borderTopWidth }, copy);
      } else if (part.patch) {
        const shades = colours(part.patch), step = part.wide / shades.length;
        shades.forEach((fill, i) => {
          const node = Page.svg("rect", { x: x + i * step, y: middle - BOX / 2, width: step + (i < shades.length - 1), height: BOX, fill }, copy);
          node.setAttribute("style", `filter:${getComputedStyle(part.patch).filter}`);
        });
      } else {
        const node = Page.svg("text", { x, y: middle + 4 }, copy, part.words);
        const colour = part.soft ? body.getPropertyValue("--soft") : body.color;
        node.setAttribute("style", `font-family:${body.fontFamily};font-size:${SIZE}px;font-weight:${part.bold ? 600 : 400};fill:${colour}`);
      }
      x += width(part) + 5;
    }

    legends(figure).forEach((list) => {
      list.filter((entry) => entry.length).forEach((entry) => {
        const needs = entry.reduce((sum, part) => sum + width(part) + 5, 0);
        if (x + needs > right) feed();
        entry.forEach(draw);
        x += GAP - 5;
      });
      feed();
    });
    const caveat = Page.byId("main").dataset.caveat;
    if (caveat) {
      caveat.split(" ").forEach((words) => {
        const part = { words, soft: true };
        if (x + width(part) > right) feed();
        draw(part);
        x -= 2;
      });
      feed();
    }
    const height = y - view[1] - view[3] - 4;
    return height ? height + 8 : 0;
  };
})();
