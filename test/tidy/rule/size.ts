import { type Finding, filesOf, type Rule } from '../tree.ts'

const mostLines = 500
const mostCharacters = 500_000

/** Checks that a source file is short enough to be read as a whole. */
export const sourceSizeRule: Rule = {
  title: `no source file is longer than ${mostLines} lines`,
  why:
    'The files that hurt in projects like this one are all the object that owns the loop and then took in every ' +
    'decision. Move the decisions into pure files and leave the loop.',
  find: (tree) =>
    filesOf(tree, /\/src\/.*\.ts$/).flatMap(([path, text]): Finding[] => {
      const lines = text.replace(/\n$/, '').split('\n').length
      return lines > mostLines ? [{ path, line: mostLines + 1, message: `has ${lines} lines` }] : []
    }),
}

/** Checks the size of files: git keeps every version of every file permanently. */
export const fileSizeRule: Rule = {
  title: `no file is larger than ${mostCharacters / 1000} kB`,
  why: 'Git keeps every version permanently, and every clone pays for it.  Generate the file, fetch it, or shrink it.',
  find: (tree) =>
    filesOf(tree, /./).flatMap(([path, text]): Finding[] =>
      text.length > mostCharacters ? [{ path, line: 1, message: `has ${Math.ceil(text.length / 1000)} kB` }] : [],
    ),
}
