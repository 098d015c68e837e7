import { posix } from 'node:path'
import { tableRowsOf } from '../markdown.ts'
import { sourceOf } from '../source.ts'
import { blank, type Finding, filesOf, findMissing, lineAt, type Rule } from '../tree.ts'

const glossaryPath = 'docs/glossary.md'

/** All readable files, except the page that lists the replaced words and the rules that search for them. */
const readable = /^(?!docs\/glossary\.md$|test\/tidy\/).*\.(?:ts|md)$/

interface Glossary {
  /** Losing words or phrases and the word that won. */
  readonly words: ReadonlyMap<string, string>
  /** Parts of names that say nothing, and what to do about them. */
  readonly names: ReadonlyMap<string, string>
  /** Names that contain a replaced word because they are fixed outside the project. */
  readonly fixed: readonly string[]
}

/** Checks that there is one word for one idea, in prose, comments, identifiers and file names. */
export const glossaryRule: Rule = {
  title: `one word per idea: no file uses a word that ${glossaryPath} rules out`,
  why:
    'Two words for one thing make the reader look for the difference. Write the word of the glossary; a name that is ' +
    `fixed from outside goes to the list at the end of ${glossaryPath}.`,
  find: (tree) => {
    const page = tree.get(glossaryPath)
    if (page === undefined) return findMissing(tree, glossaryPath)
    const glossary = readGlossary(page)
    if (glossary.words.size === 0 || glossary.names.size === 0)
      return [{ path: glossaryPath, line: 1, message: 'lists nothing that is not written: the tables cannot be read' }]
    return filesOf(tree, readable).flatMap(([path, text]) => [
      ...findWords(path, text, glossary),
      ...(path.endsWith('.ts') ? findNames(path, text, glossary) : []),
    ])
  },
}

function readGlossary(page: string): Glossary {
  const sections = new Map(page.split(/^## /m).map((section) => [section.split('\n')[0], section]))
  return {
    words: losersOf(sections.get('Words')),
    names: losersOf(sections.get('Names')),
    // The longest first: a short one may be part of it.
    fixed: codeSpansOf(sections.get('Fixed names')).toSorted((one, other) => other.length - one.length),
  }
}

/** The losers of a table are the code spans of its last column. */
function losersOf(section = ''): ReadonlyMap<string, string> {
  return new Map(
    tableRowsOf(section).flatMap(({ cells }) =>
      codeSpansOf(cells.at(-1)).map((loser) => [phraseOf(wordsOf(loser)), cells[0] ?? '']),
    ),
  )
}

function codeSpansOf(text = ''): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '')
}

interface Word {
  readonly word: string
  readonly offset: number
}

/**
 * Returns the words of a text in lower case, including those inside an identifier. A phrase continues over hyphens,
 * quotes and the edge of a comment's line; any other sign ends it, and becomes an empty word.
 */
function wordsOf(text: string): Word[] {
  return [...text.matchAll(/[A-Z]{2,}s\b|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\w\s\-*/`'"]/g)].map((match) => ({
    word: /\w/.test(match[0]) ? match[0].toLowerCase() : '',
    offset: match.index,
  }))
}

function phraseOf(words: readonly Word[]): string {
  return words.map(({ word }) => word).join(' ')
}

function findWords(path: string, text: string, { words: losers, fixed }: Glossary): Finding[] {
  const words = wordsOf(withoutFixed(text, fixed))
  const longest = Math.max(0, ...[...losers.keys()].map((loser) => loser.split(' ').length))
  const beginnings = new Set([...losers.keys()].flatMap((loser) => [loser.replace(/ .*/, ''), `${loser}s`]))
  return words.flatMap(({ word: first, offset }, index): Finding[] => {
    if (!beginnings.has(first)) return []
    for (let length = longest; length > 0; length--) {
      const said = phraseOf(words.slice(index, index + length))
      const winner = losers.get(said) ?? losers.get(said.replace(/s$/, ''))
      if (winner !== undefined)
        return [{ path, line: lineAt(text, offset), message: `says "${said}": we say ${winner}` }]
    }
    return []
  })
}

/** Blanks addresses and fixed names, whose spelling is not ours. */
function withoutFixed(text: string, fixed: readonly string[]): string {
  return fixed.reduce((rest, name) => rest.replaceAll(name, blank), text.replaceAll(/\bhttps?:\/\/[^\s)>]+/g, blank))
}

const declaration =
  /^[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?(?:async[ \t]+)?(?:(?:class|interface|function|const|let)[ \t]+([\w$]+)|type[ \t]+([\w$]+)[^,}\n]*=)/gm

function findNames(path: string, text: string, { names, fixed }: Glossary): Finding[] {
  const objection = (name: string): string | undefined => {
    if (fixed.includes(name)) return undefined
    const losing = wordsOf(name).find(({ word }) => names.has(word))
    return losing && `is called ${name}: ${names.get(losing.word)}`
  }
  const declared = [...sourceOf(text).code.matchAll(declaration)].map((match) => ({
    name: match[1] ?? match[2] ?? '',
    line: lineAt(text, match.index),
  }))
  const folders = posix.dirname(path).split('/')
  return [...declared, ...[...folders, posix.basename(path, '.ts')].map((name) => ({ name, line: 1 }))].flatMap(
    ({ name, line }): Finding[] => {
      const message = objection(name)
      return message === undefined ? [] : [{ path, line, message }]
    },
  )
}
