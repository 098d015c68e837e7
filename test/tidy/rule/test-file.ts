import { posix } from 'node:path'
import { sourceOf } from '../source.ts'
import { type Finding, filesOf, findMatches, findMissing, lineAt, type Rule } from '../tree.ts'

const configPath = 'vitest.config.ts'
const runners = '(?:test|it|describe|suite)'

/** Checks that everything written as a test is run as one. */
export const testRunRule: Rule = {
  title: 'every test file is named and placed so that the runner finds it',
  why:
    'A test that no glob matches always passes, because it never runs. Name it *.test.ts and put it where an ' +
    'include pattern of vitest.config.ts finds it.',
  find: (tree) => {
    const config = tree.get(configPath)
    if (config === undefined) return findMissing(tree, configPath)
    const globs = includedBy(config)
    return filesOf(tree, /\.[cm]?[jt]sx?$/).flatMap(([path, text]): Finding[] => {
      const isNamedSo = path.endsWith('.test.ts')
      if (/[.-](?:test|spec)\.[cm]?[jt]sx?$/.test(path) && !isNamedSo)
        return [{ path, line: 1, message: 'looks like a test by its name, which must end in .test.ts' }]
      if (isNamedSo && !globs.some((glob) => posix.matchesGlob(path, glob)))
        return [{ path, line: 1, message: `is matched by no include pattern of ${configPath}: ${globs.join(', ')}` }]
      // A suite that others bind declares its tests inside a function; at the top level they are meant to run.
      const declaration = new RegExp(`^${runners}\\b[\\w.]*\\(`, 'm').exec(sourceOf(text).code)
      if (isNamedSo || declaration === null) return []
      const line = lineAt(text, declaration.index)
      return [{ path, line, message: 'declares tests, but its name does not end in .test.ts' }]
    })
  },
}

function includedBy(config: string): string[] {
  const { code, literals } = sourceOf(config)
  return [...code.matchAll(/\binclude\s*:\s*\[[^\]]*\]/g)].flatMap((list) =>
    [...literals.values()]
      .filter(({ start }) => start > list.index && start < list.index + list[0].length)
      .map(({ value }) => value),
  )
}

/** Checks that no test is skipped, or skips the others, without a reason. */
export const skippedTestRule: Rule = {
  title: 'no test is left out without a reason',
  why:
    'A focused test silences its neighbors and a skipped one promises what is not checked. Remove .only; give the ' +
    'reason for skip, skipIf and runIf in a comment on the same line or the one above, or in context.skip(reason); ' +
    'write a test instead of todo.',
  find: (tree) => filesOf(tree, /\.test\.ts$/).flatMap(([path, text]) => findLeftOut(path, text)),
}

const focusOrPromise = new RegExp(`\\b${runners}(?:\\.\\w+)*\\.(?:only|todo)\\b`, 'g')
const leaveOut = new RegExp(`\\b${runners}(?:\\.\\w+)*\\.(?:skip|skipIf|runIf)\\b`, 'g')
const skipWithoutReason = /(?<![.\w$])(?:\w+\.)?skip\(\s*\)/g

function findLeftOut(path: string, text: string): Finding[] {
  const { code, comments } = sourceOf(text)
  const isCommented = comments.split('\n').map((line) => line.trim() !== '')
  return [
    ...findMatches(path, code, focusOrPromise, ([call]) => `has ${call}`),
    ...findMatches(path, code, skipWithoutReason, ([call]) => `has ${call} without a reason`),
    ...findMatches(path, code, leaveOut, ([call]) => `has ${call}, and no comment says why`).filter(
      ({ line }) => !isCommented[line - 1] && !isCommented[line - 2],
    ),
  ]
}
