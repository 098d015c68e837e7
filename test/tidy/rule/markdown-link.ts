import { posix } from 'node:path'
import { anchorsOf, linksOf } from '../markdown.ts'
import { type Finding, filesOf, type Rule, type Tree } from '../tree.ts'

/**
 * Checks that links inside the repository lead somewhere. Links to the outside are not followed: a test needs no
 * network.
 */
export const markdownLinkRule: Rule = {
  title: 'every Markdown link leads to a file, folder or heading that exists',
  why: 'A reader who meets a dead link stops trusting the page. Correct the target, or write the page it promises.',
  find: (tree) => {
    const folders = new Set([...tree.keys()].flatMap(foldersAbove))
    return filesOf(tree, /\.md$/).flatMap(([path, text]) =>
      linksOf(text).flatMap(({ target, line }): Finding[] => {
        const message = objectionTo(tree, folders, path, target)
        return message === undefined ? [] : [{ path, line, message }]
      }),
    )
  },
}

function objectionTo(tree: Tree, folders: ReadonlySet<string>, from: string, target: string): string | undefined {
  if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(target)) return undefined
  const [file = '', anchor] = target.split('#')
  const path = file === '' ? from : pathOf(from, file)
  const text = tree.get(path)
  if (text === undefined && !folders.has(path)) return `links to ${target}, and ${path} does not exist`
  if (anchor === undefined) return undefined
  if (text === undefined) return `links to ${target}, and a folder has no headings`
  if (!path.endsWith('.md'))
    return /^L\d+(?:-L\d+)?$/.test(anchor) ? undefined : `links to ${target}, which has no headings`
  return anchorsOf(text).has(decodeURIComponent(anchor))
    ? undefined
    : `links to ${target}, and no heading makes #${anchor}`
}

function pathOf(from: string, file: string): string {
  const path = file.startsWith('/') ? file.slice(1) : posix.join(posix.dirname(from), file)
  return decodeURIComponent(path).replace(/\/$/, '')
}

function foldersAbove(path: string): string[] {
  const parent = posix.dirname(path)
  return parent === '.' ? ['.'] : [parent, ...foldersAbove(parent)]
}
