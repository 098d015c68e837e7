import { blank, lineAt } from './tree.ts'

/** A link in a Markdown file. */
export interface Link {
  readonly target: string
  readonly line: number
}

/** Blanks fenced code and HTML comments; offsets stay. */
export function withoutFences(text: string): string {
  return text
    .replaceAll(/^([ \t]*)(`{3,}|~{3,})[^\n]*\n(?:[^]*?^[ \t]*\2[`~]*[ \t]*$|[^]*$)/gm, blank)
    .replaceAll(/<!--[^]*?-->/g, blank)
}

/** Blanks all code: the rest is prose. */
export function proseOf(text: string): string {
  return withoutFences(text).replaceAll(/(`+)(?!`)[^]*?(?<!`)\1(?!`)/g, blank)
}

/**
 * Returns every link and image, inline or by reference. An undefined reference points at `[name]`, which does not
 * exist.
 */
export function linksOf(text: string): Link[] {
  const prose = proseOf(text)
  const definition = /^ {0,3}\[([^\]]+)\]:[ \t]*<?([^\s>]+)/gm
  const defined = new Set([...prose.matchAll(definition)].map((match) => match[1]?.toLowerCase()))
  const links = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g), ...prose.matchAll(definition)].map(
    (match) => ({ target: match[2] ?? match[1] ?? '', line: lineAt(prose, match.index) }),
  )
  const undefinedReferences = [...prose.matchAll(/\]\[([^\]]+)\]/g)]
    .filter((match) => !defined.has(match[1]?.toLowerCase()))
    .map((match) => ({ target: `[${match[1]}]`, line: lineAt(prose, match.index) }))
  return [...links, ...undefinedReferences].toSorted((one, other) => one.line - other.line)
}

/** Returns the anchors of a page: those that GitHub derives from headings, and those set by hand. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  const page = withoutFences(text)
  for (const match of page.matchAll(/^#{1,6}[ \t]+(.*?)[ \t]*#*$/gm)) {
    const slug = (match[1] ?? '')
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let repeat = 1; anchors.has(anchor); repeat++) anchor = `${slug}-${repeat}`
    anchors.add(anchor)
  }
  for (const match of page.matchAll(/<a\s+(?:id|name)="([^"]+)"/g)) anchors.add(match[1] ?? '')
  return anchors
}

function isUnderline(line = ''): boolean {
  return /^\s*\|[|\-: \t]+$/.test(line)
}

/** Returns the rows of every table, without the heading and the line under it. */
export function tableRowsOf(text: string): { readonly cells: readonly string[]; readonly line: number }[] {
  const lines = withoutFences(text).split('\n')
  return lines.flatMap((row, index) => {
    if (!/^\s*\|/.test(row) || isUnderline(row) || isUnderline(lines[index + 1])) return []
    const inner = row
      .trim()
      .replace(/^\|/, '')
      .replace(/(?<!\\)\|$/, '')
    const cells = inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
    return [{ cells, line: index + 1 }]
  })
}
