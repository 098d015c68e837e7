import { tableRowsOf } from '../markdown.ts'
import { type Finding, findMissing, type Rule } from '../tree.ts'
import { publicPackagesOf } from '../workspace.ts'

/** Checks that the README lists every package. */
export const packageListRule: Rule = {
  title: 'the package table of README.md lists exactly the published packages',
  why: 'The README is where a newcomer learns what to install. Add the missing row, or remove the one too many.',
  find: (tree) => {
    const path = 'README.md'
    const text = tree.get(path)
    if (text === undefined) return findMissing(tree, path)
    const listed = tableRowsOf(text).flatMap(({ cells, line }) => {
      const name = /^\[?`?(@waybill\/[\w-]+|waybill)`?(?:\]|$)/.exec(cells[0] ?? '')?.[1]
      return name === undefined ? [] : [{ name, line }]
    })
    const published = publicPackagesOf(tree).map(({ manifest }) => manifest.name as string)
    return [
      ...published
        .filter((name) => !listed.some((row) => row.name === name))
        .map((name): Finding => ({ path, line: 1, message: `does not list ${name}` })),
      ...listed
        .filter(({ name }, index) => !published.includes(name) || listed.findIndex((row) => row.name === name) < index)
        .map(
          ({ name, line }): Finding => ({
            path,
            line,
            message: `lists ${name}, which is not published or listed above`,
          }),
        ),
    ]
  },
}

/** Checks that the changelog has a section for the next release. */
export const changelogRule: Rule = {
  title: 'CHANGELOG.md has a section for what is not released yet',
  why:
    'Describe a change that users see in the same commit; at release time it is forgotten. Keep `## Unreleased` ' +
    'as the first section.',
  find: (tree) => {
    const path = 'CHANGELOG.md'
    const text = tree.get(path)
    if (text === undefined) return findMissing(tree, path)
    const first = /^## +\[?([^\]\n]+)\]?/m.exec(text)?.[1]?.trim()
    return first === 'Unreleased' ? [] : [{ path, line: 1, message: `starts with the section ${first ?? 'nothing'}` }]
  },
}
