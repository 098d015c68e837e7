/**
 * The text of a member of a JSON object, letter by letter: parsing and writing it anew would round its large numbers and
 * move its blanks. Of members with the same name the last one counts, as for `JSON.parse`.
 *
 * `json` was parsed before and is an object, so nothing is checked here. Every loop ends with the text all the same.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined
  let at = skipBlanks(json, json.indexOf('{') + 1)
  while (json[at] === '"') {
    const keyEnd = endOfString(json, at)
    const start = skipBlanks(json, json.indexOf(':', keyEnd) + 1)
    const end = endOfValue(json, start)
    if (JSON.parse(json.slice(at, keyEnd)) === name) found = json.slice(start, end).trimEnd()
    at = skipBlanks(json, end + 1)
  }
  return found
}

function skipBlanks(json: string, from: number): number {
  let at = from
  while (json[at] === ' ' || json[at] === '\n' || json[at] === '\r' || json[at] === '\t') at++
  return at
}

/** Behind the closing quote of the string that begins at `from`. */
function endOfString(json: string, from: number): number {
  let at = from + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** At the comma or brace behind the value that begins at `from`. */
function endOfValue(json: string, from: number): number {
  let depth = 0
  let at = from
  while (at < json.length) {
    const letter = json[at]
    if (depth === 0 && (letter === ',' || letter === '}')) return at
    if (letter === '{' || letter === '[') depth++
    else if (letter === '}' || letter === ']') depth--
    at = letter === '"' ? endOfString(json, at) : at + 1
  }
  return at
}
