import { tableRowsOf } from '../markdown.ts'
import { sourceOf } from '../source.ts'
import { type Finding, findMissing, type Rule, type Tree } from '../tree.ts'

const tablePath = 'docs/reference/requirements.md'
const id = /^(?:S\d-\d{3}|C-\d{2}|D\d{1,2}|I\d{1,2}|L\d)$/
const testLink = /\[((?:\\.|[^\]\\])*)\]\((?:\.\.\/)*([^)\s]+)\)/g

/** Checks that each requirement has one row, with its meaning and tests that exist. */
export const requirementTableRule: Rule = {
  title: `every row of ${tablePath} names a test that exists`,
  why:
    'The table is how a reader checks that a requirement is met; a row that names a renamed or deleted test is a broken ' +
    'promise. Write `| id | meaning | [exact title of a test or describe](../../path of the test file) |`, with <br> ' +
    'between tests; a requirement without a test has a row of two cells.',
  find: (tree) => {
    const text = tree.get(tablePath)
    if (text === undefined) return findMissing(tree, tablePath)
    const seen = new Set<string>()
    return tableRowsOf(text).flatMap(({ cells, line }): Finding[] => {
      const [requirement = ''] = cells
      const messages = seen.has(requirement) ? [`${requirement} has two rows`] : objectionsTo(tree, cells)
      seen.add(requirement)
      return messages.map((message) => ({ path: tablePath, line, message }))
    })
  },
}

function objectionsTo(tree: Tree, cells: readonly string[]): string[] {
  const [requirement = '', meaning = '', tests] = cells
  if (!id.test(requirement)) return [`${requirement} is no requirement: ids look like S1-032, C-35, D21, I7 or L1`]
  if (cells.length < 2 || cells.length > 3)
    return [`${requirement} has ${cells.length} cells instead of 2 or 3: write \\| for a bar in a title`]
  if (meaning === '' || meaning.includes('](')) return [`${requirement} has no meaning in its second cell`]
  return tests === undefined ? [] : objectionsToTests(tree, requirement, tests)
}

function objectionsToTests(tree: Tree, requirement: string, tests: string): string[] {
  const links = [...tests.matchAll(testLink)]
  const rest = tests.replaceAll(testLink, '').replaceAll('<br>', '').trim()
  if (links.length === 0 || rest !== '') return [`${requirement} has a cell of tests that is not [title](path)<br>…`]
  const repeated = links.filter(([link], index) => links.findIndex(([other]) => other === link) < index)
  return [
    ...repeated.map(([link]) => `${requirement} repeats the test ${link}`),
    ...links.flatMap(([, title = '', path = '']) => objectionToTest(tree, requirement, title, path)),
  ]
}

function objectionToTest(tree: Tree, requirement: string, escapedTitle: string, path: string): string[] {
  const text = tree.get(path)
  if (text === undefined) return [`${requirement} names ${path}, which does not exist`]
  if (!path.endsWith('.test.ts')) return [`${requirement} names ${path}, which is no test file`]
  const title = escapedTitle.replaceAll(/\\(.)/g, '$1')
  const isTitle = [...sourceOf(text).literals.values()].some(({ value }) => value === title)
  return isTitle ? [] : [`${requirement} names a test that ${path} does not have: ${title}`]
}
