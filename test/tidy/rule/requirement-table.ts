import { tableRowsOf } from '../markdown.ts'
import { sourceOf } from '../source.ts'
import { type Finding, findMissing, type Rule, type Tree } from '../tree.ts'

const tablePath = 'docs/reference/requirements.md'
const id = /^(?:S\d-\d{3}|C-\d{2}|D\d{1,2}|I\d{1,2}|L\d)$/

/** Each requirement that counts as met names the test that shows it. */
export const requirementTableRule: Rule = {
  title: `every row of ${tablePath} names a test that exists`,
  why:
    'The table is how a stranger checks that a requirement is met; a row that names a test which was renamed or ' +
    'deleted is a promise nobody keeps. Write `| id | path of the test file | exact title of a test or describe |`.',
  find: (tree) => {
    const text = tree.get(tablePath)
    if (text === undefined) return findMissing(tree, tablePath)
    const seen = new Set<string>()
    return tableRowsOf(text).flatMap(({ cells, line }): Finding[] => {
      const row = cells.join(' | ')
      const message = seen.has(row) ? `repeats the row ${row}` : objectionTo(tree, cells)
      seen.add(row)
      return message === undefined ? [] : [{ path: tablePath, line, message }]
    })
  },
}

function objectionTo(tree: Tree, cells: readonly string[]): string | undefined {
  const [requirement = '', file = '', title = ''] = cells
  if (!id.test(requirement)) return `${requirement} is no requirement: ids look like S1-032, C-35, D21, I7 or L1`
  if (cells.length !== 3) return `${requirement} has ${cells.length} cells instead of 3: write \\| for a bar in a title`
  const path = pathIn(file)
  const text = tree.get(path)
  if (text === undefined) return `${requirement} names ${path}, which does not exist`
  if (!path.endsWith('.test.ts')) return `${requirement} names ${path}, which is no test file`
  const isTitle = [...sourceOf(text).literals.values()].some(({ value }) => value === title)
  return isTitle ? undefined : `${requirement} names a test that ${path} does not have: ${title}`
}

/** The path in a cell, written plainly, as code, or as the text of a link. */
function pathIn(cell: string): string {
  return cell.replace(/^\[(.*)\]\(.*\)$/, '$1').replaceAll('`', '')
}
