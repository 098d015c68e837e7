import { sourceOf } from './source.ts'
import { type Finding, findMatches, lineAt } from './tree.ts'

const singleComment = /\/\*[^]*?\*\/|\/\/[^\n]*/g

/** Returns the comments of a source file: consecutive lines of `//` are one. */
export function commentsOf(text: string): { readonly line: number; readonly words: string }[] {
  const found: { start: number; end: number; isLine: boolean }[] = []
  for (const match of sourceOf(text).comments.matchAll(singleComment)) {
    const isLine = match[0].startsWith('//')
    const last = found.at(-1)
    const end = match.index + match[0].length
    const continues = isLine && last?.isLine === true && /^\n[ \t]*$/.test(text.slice(last.end, match.index))
    if (continues) last.end = end
    else found.push({ start: match.index, end, isLine })
  }
  return found.map(({ start, end }) => ({ line: lineAt(text, start), words: wordsIn(text.slice(start, end)) }))
}

function wordsIn(comment: string): string {
  return comment
    .replace(/\*+\/$/, '')
    .replaceAll(/^\/\*+|^[ \t]*(?:\/\/|\*)/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Finds comments that begin with a relative clause instead of a verb or a noun. */
export function findOpenings(path: string, text: string): Finding[] {
  return commentsOf(text).flatMap(({ line, words }): Finding[] => {
    const opening = /^(?:What|Who|Whoever)\b/.exec(words)?.[0]
    return opening === undefined ? [] : [{ path, line, message: `has a comment that opens with "${opening}"` }]
  })
}

/** Finds lines that speak of people who do not exist. */
export function findNobodies(path: string, text: string): Finding[] {
  const lines = new Set<number>()
  return findMatches(path, text, /\b(?:somebody|nobody|whoever)\b/gi, ([word]) => `speaks of ${word}`).filter(
    ({ line }) => !lines.has(line) && lines.add(line),
  )
}

/** Finds ids of requirements and decisions, which mean nothing without their document. */
export function findRequirementIds(path: string, text: string): Finding[] {
  return findMatches(path, text, /\b(?:S\d-\d{3}|C-\d{2}|D-?\d{1,2})\b/g, ([id]) => `names ${id}`)
}

/** Finds ids of invariants. */
export function findInvariantIds(path: string, text: string): (Finding & { readonly id: string })[] {
  const { comments } = sourceOf(text)
  return [...comments.matchAll(/\b(?:I\d{1,2}|L\d)\b/g)].map((match) => ({
    path,
    line: lineAt(text, match.index),
    id: match[0],
    message: `names ${match[0]}`,
  }))
}
