import { filesPerFolder, folderOf, isEntry, sharedNamesOf, sourceFilesOf, sourceRootsOf } from '../package-folder.ts'
import type { Finding, Rule, Tree } from '../tree.ts'

/** Folders of one or two files, and the reason for each. */
export const smallFolders: readonly { readonly folder: string; readonly why: string }[] = [
  { folder: 'packages/core/src/id', why: 'five packages make ids; it belongs to no one concept that uses it' },
  { folder: 'packages/core/src/partition', why: 'a contract with other languages, with vectors of its own' },
  { folder: 'packages/kafka/src/client', why: 'assembles what the folders inside it hold' },
]

const fewFiles = 2
const handful = 5

/** Checks that a folder is worth its name. */
export const smallFolderRule: Rule = {
  title: `a folder of a package has more than ${fewFiles} files, or a reason`,
  why:
    'A folder of one or two files costs a reader a stop and tells them nothing. Merge it into the folder that uses it, ' +
    'or give the reason in test/tidy/rule/folder-size.ts.',
  find: (tree) => findSmallFolders(tree, smallFolders),
}

/** Finds small folders without a reason, and reasons without a small folder. */
export function findSmallFolders(tree: Tree, explained: typeof smallFolders): Finding[] {
  const small = sourceRootsOf(tree).flatMap((root) =>
    [...countFiles(tree, root)].flatMap(([folder, files]) => (files <= fewFiles ? [`${root}/${folder}`] : [])),
  )
  return [
    ...small
      .filter((path) => !explained.some(({ folder }) => folder === path))
      .map((path): Finding => ({ path, line: 1, message: `has at most ${fewFiles} files and no reason` })),
    ...explained
      .filter(
        ({ folder }) => sourceRootsOf(tree).some((root) => folder.startsWith(`${root}/`)) && !small.includes(folder),
      )
      .map(({ folder }): Finding => ({ path: folder, line: 1, message: 'has a reason to be small and is not' })),
  ]
}

/** Counts the files of each folder but src itself. An entry is not counted: it has to be where the exports map says. */
function countFiles(tree: Tree, root: string): Map<string, number> {
  const counts = filesPerFolder(tree, root)
  for (const [path] of sourceFilesOf(tree, root).filter(([file]) => isEntry(file))) {
    const folder = folderOf(path)
    counts.set(folder, (counts.get(folder) ?? 1) - 1)
  }
  return new Map([...counts].filter(([folder, files]) => folder !== '' && files > 0))
}

/** Checks that files lie in folders. */
export const rootFileRule: Rule = {
  title: `the src of a package has at most ${handful} files beside its folders`,
  why: 'Files without a folder have no place in the order that a reader follows. Move them into the folder they belong to.',
  find: (tree) =>
    sourceRootsOf(tree).flatMap((root): Finding[] => {
      const files = filesPerFolder(tree, root).get('') ?? 0
      return files > handful ? [{ path: root, line: 1, message: `has ${files} files` }] : []
    }),
}

/** Checks that a file is known by its name. */
export const sharedNameRule: Rule = {
  title: 'no two files of a package share a name',
  why:
    'A reader, a stack trace and a search name a file without its folder. Name each file after the one concept that it ' +
    'exports.',
  find: (tree) =>
    sourceRootsOf(tree).flatMap((root) =>
      [...sharedNamesOf(tree, root).values()].map(
        ([first = '', ...others]): Finding => ({
          path: first,
          line: 1,
          message: `shares its name with ${others.join(', ')}`,
        }),
      ),
    ),
}
