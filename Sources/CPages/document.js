"use strict";
// Versions of a document as lines, with those marked in which they differ. Numbers keep the text that they were sent with, which
// JSON.parse would change.

/** Reads JSON into nodes: {text}, {items: [node]} or {members: [[name, node]]}. Throws where it is none. */
function readJSON(text) {
  JSON.parse(text);  // The grammar; below only what is known to be valid is taken apart.
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g);
  let at = 0;
  const value = () => {
    const token = tokens[at++];
    if (token === "[") {
      const items = [];
      while (tokens[at] !== "]") {
        items.push(value());
        if (tokens[at] === ",") at++;
      }
      at++;
      return { items };
    }
    if (token === "{") {
      const members = [];
      while (tokens[at] !== "}") {
        const name = JSON.parse(tokens[at]);
        at += 2;
        members.push([name, value()]);
        if (tokens[at] === ",") at++;
      }
      at++;
      return { members };
    }
    return { text: token };
  };
  return value();
}

/** Lines of indented JSON, each with the pointer (RFC 6901) of what stands on it. */
function jsonLines(node, pointer = "", indent = "", before = "", after = "") {
  if (node.text !== undefined) return [{ pointer, text: indent + before + node.text + after }];
  const children = node.items?.map((item, index) => [String(index), "", item]) ??
    node.members.map(([name, member]) => [name, `${JSON.stringify(name)}: `, member]);
  const [open, close] = node.items ? ["[", "]"] : ["{", "}"];
  if (!children.length) return [{ pointer, text: indent + before + open + close + after }];
  return [
    { pointer, text: indent + before + open },
    ...children.flatMap(([name, label, child], index) => jsonLines(
      child, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, `${indent}  `, label,
      index + 1 < children.length ? "," : "")),
    { pointer, text: indent + close + after },
  ];
}

const linesToText = (lines) => lines.map((line) => line.text).join("\n");

/** Which lines of each text are not in the other one, in order: the longest common subsequence of lines stays unmarked. */
function markLines(one, other) {
  const common = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      common[i][j] = one[i] === other[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const marks = [one.map(() => true), other.map(() => true)];
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    if (one[i] === other[j]) {
      marks[0][i++] = false;
      marks[1][j++] = false;
    } else if (common[i + 1][j] >= common[i][j + 1]) i++;
    else j++;
  }
  return marks;
}

/** Shows lines in a pre, the marked ones in mark elements. */
function showLines(pre, lines) {
  pre.replaceChildren(...lines.map((line) => {
    const made = document.createElement(line.isMarked ? "mark" : "span");
    made.textContent = line.text;
    return made;
  }));
}

/** Both versions as lines; `differences` are the pointers at which JSON differs. Texts are compared line by line. */
function compare(client, server, differences) {
  if (differences && client.isJSON && server.isJSON) {
    const isIn = (pointer) => differences.some((place) => pointer === place || pointer.startsWith(`${place}/`));
    return [client, server].map((version) =>
      jsonLines(readJSON(version.text)).map((line) => ({ ...line, isMarked: isIn(line.pointer) })));
  }
  const lines = [client, server].map((version) =>
    version.isJSON ? jsonLines(readJSON(version.text)).map((line) => line.text) : version.text.split("\n"));
  const isLong = lines[0].length * lines[1].length > 4e6;
  const marks = isLong ? lines.map((some) => some.map(() => true)) : markLines(...lines);
  return lines.map((some, side) => some.map((text, index) => ({ text, isMarked: marks[side][index] })));
}
