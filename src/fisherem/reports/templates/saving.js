// Buttons that save a table as CSV and a picture as SVG or PNG. Files are made in the page; nothing is sent anywhere.
(function () {
  "use strict";
  const SCALE = 2; // a PNG has twice the pixels of the page, so that it is sharp in print
  const STYLES = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin",
    "opacity", "font-family", "font-size", "font-weight", "text-anchor", "visibility", "display", "paint-order",
    "image-rendering", "filter",
  ];

  function save(name, address) {
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    document.body.appendChild(link);
    link.click();
    link.remove();
  }

  function download(name, blob) {
    const address = URL.createObjectURL(blob);
    save(name, address);
    setTimeout(() => URL.revokeObjectURL(address), 60000); // a busy machine may take its time to write the file
  }

  // -- tables ----------------------------------------------------------------------------------------------------

  // Numbers as programs read them: 1,234.5 becomes 1234.5, a true minus sign becomes -, a dash becomes nothing.
  function plain(cell) {
    if (cell.dataset.value !== undefined) return cell.dataset.value;
    const text = cell.textContent.trim().replace(/\s+/g, " ");
    if (!cell.classList.contains("n") || cell.tagName === "TH") return text;
    const number = text.replace(/,/g, "").replace(/−/g, "-").replace(/^–$/, "");
    return /^-?[\d.]+(e[+-]?\d+)?%?$/.test(number) ? number : text;
  }

  function cells(table) {
    return [...table.rows].map((row) => [...row.cells].filter((c) => !c.classList.contains("barcol")).map(plain));
  }

  // Spreadsheets compute text that begins like a formula: an apostrophe in front makes it plain text (numbers stay).
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?%?$/i;
  const marked = (text) => (/^'*[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? "'" + text : text);

  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const csv = (lines) => "\ufeff" + lines.map((line) => line.map((text) => quoted(marked(text))).join(",")).join("\r\n") + "\r\n";

  // -- pictures --------------------------------------------------------------------------------------------------

  // A copy of a drawing with the page's styles as attributes.
  function styled(svg) {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      to[i].removeAttribute("class");
      to[i].setAttribute("style", STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
    });
    return copy;
  }

  // A grid of small figures as one drawing, each at its place with its caption above.
  function together(grid) {
    const frame = grid.getBoundingClientRect();
    const copy = Page.svg("svg", { viewBox: `0 0 ${frame.width} ${frame.height}` });
    grid.querySelectorAll("figure").forEach((figure) => {
      const drawing = figure.querySelector("svg"), box = drawing.getBoundingClientRect();
      const caption = figure.querySelector("figcaption"), words = caption.getBoundingClientRect();
      const style = getComputedStyle(caption), node = copy.appendChild(styled(drawing));
      const place = { x: box.x - frame.x, y: box.y - frame.y, width: box.width, height: box.height };
      for (const name in place) node.setAttribute(name, place[name]);
      const text = Page.svg("text", { x: words.x - frame.x, y: words.bottom - frame.y - 5 }, copy, caption.textContent);
      text.setAttribute("style", `font-family:${style.fontFamily};font-size:${style.fontSize};font-weight:${style.fontWeight};fill:${style.color}`);
    });
    return copy;
  }

  // A picture that stands alone: with the outlines that it refers to inside, and the legends below.
  function alone(svg, figure) {
    const whole = figure.matches(".boxes"), copy = whole ? together(figure) : styled(svg);
    const rect = (whole ? figure : svg).getBoundingClientRect();
    const box = { width: rect.width, height: rect.height };
    const view = copy.getAttribute("viewBox").split(" ").map(Number);
    const extra = Page.legendsBelow(figure, copy, view, styled);
    const defs = Page.svg("defs", {});
    const needed = new Set([...copy.querySelectorAll("use")].map((use) => use.getAttribute("href").slice(1)));
    needed.forEach((id) => {
      const outline = document.getElementById(id).cloneNode(true);
      outline.removeAttribute("class");
      if (outline.tagName === "image") outline.setAttribute("style", "image-rendering:pixelated");
      defs.appendChild(outline);
    });
    const paper = Page.svg("rect", { x: view[0], y: view[1], width: view[2], height: view[3] + extra });
    paper.setAttribute("fill", getComputedStyle(figure).getPropertyValue("--panel"));
    copy.prepend(defs, paper);
    copy.setAttribute("viewBox", `${view[0]} ${view[1]} ${view[2]} ${view[3] + extra}`);
    box.height *= 1 + extra / view[3];
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", Math.round(box.width));
    copy.setAttribute("height", Math.round(box.height));
    return { text: new XMLSerializer().serializeToString(copy), width: box.width, height: box.height };
  }

  function savePng(name, picture) {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(SCALE * picture.width);
      canvas.height = Math.round(SCALE * picture.height);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(name + ".png", blob), "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(picture.text);
  }

  // -- the buttons -----------------------------------------------------------------------------------------------

  function button(bar, text, says, act) {
    const node = bar.appendChild(document.createElement("button"));
    node.type = "button";
    node.className = "save";
    node.textContent = text;
    node.setAttribute("aria-label", says);
    node.addEventListener("click", act);
  }

  function csvButton(bar, name, lines, says) {
    const text = () => csv(lines().map((line) => line.map(String)));
    button(bar, "CSV", says, () => download(name + ".csv", new Blob([text()], { type: "text/csv" })));
  }

  function toolbar(after) {
    const bar = document.createElement("div");
    bar.className = "saves";
    after.after(bar);
    return bar;
  }

  document.querySelectorAll("[data-table]").forEach((holder) => {
    const name = holder.dataset.table, table = holder.querySelector("table");
    const lines = () => (table.id === "row-table" ? Page.rowsAsText() : cells(table));
    csvButton(toolbar(holder), name, lines, `Save the table ${name} as CSV`);
  });
  // pictures without a table beside them: the values that they show
  const valuesButton = (bar, name) => csvButton(bar, name, () => Page.data.tables[name] || Page.values[name](), `Save the values of ${name} as CSV`);
  document.querySelectorAll("[data-picture]").forEach((figure) => {
    const name = figure.dataset.picture, map = figure.querySelector("img");
    const bar = toolbar(figure.closest(".maps > *") ? figure.lastElementChild : figure); // maps stand side by side
    if (map) {
      button(bar, "PNG", `Save the picture ${name} as PNG`, () => save(name + ".png", map.currentSrc));
      return;
    }
    // of the two widths the one that is seen; legend marks and outlines are no pictures
    const all = [...figure.querySelectorAll("svg:not(.key):not(.definitions)")];
    const picture = () => alone(all.find((svg) => svg.getClientRects().length), figure);
    const asSvg = () => download(name + ".svg", new Blob([picture().text], { type: "image/svg+xml" }));
    button(bar, "SVG", `Save the picture ${name} as SVG`, asSvg);
    button(bar, "PNG", `Save the picture ${name} as PNG`, () => savePng(name, picture()));
    if (figure.dataset.values) valuesButton(bar, figure.dataset.values);
  });
})();
