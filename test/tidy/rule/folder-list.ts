import { tableRowsOf } from '../markdown.ts'
import { blank, type Finding, lineAt, type Rule, type Tree } from '../tree.ts'
import { publicPackagesOf, type Workspace } from '../workspace.ts'
import { type RoomPlan, roomName, roomPlans } from './room-order.ts'

const heading = '## Folders, in order'

/** Checks that the README of each package says who needs it, and lists its folders as the rule of their order has them. */
export const folderListRule: Rule = {
  title: 'the README of a package says who needs it and lists its folders in their order',
  why:
    'A reader learns from the README whether the package is for them and where to start reading; a list that differs ' +
    'from the enforced order misleads. Start the first paragraph with "You need", and change the table under ' +
    `"${heading}" together with test/tidy/rule/room-order.ts.`,
  find: (tree) => publicPackagesOf(tree).flatMap((workspace) => findIn(tree, workspace, roomPlans)),
}

/** Finds violations in the README of one package. */
export function findIn(tree: Tree, { folder }: Workspace, plans: readonly RoomPlan[]): Finding[] {
  const path = `${folder}/README.md`
  const text = tree.get(path)
  if (text === undefined) return [{ path, line: 1, message: 'is missing' }]
  const audience = /^# [^\n]*\n\nYou need /.test(text)
    ? []
    : [{ path, line: 3, message: 'does not start its first paragraph with "You need", and for what' }]
  const plan = plans.find(({ within }) => within === `${folder}/src`)
  if (plan === undefined)
    return [
      ...audience,
      { path, line: 1, message: 'belongs to a package whose folders have no order in room-order.ts' },
    ]
  return [...audience, ...findInList(path, text, plan.rooms.map(roomName))]
}

function findInList(path: string, text: string, expected: readonly string[]): Finding[] {
  const start = text.indexOf(`\n${heading}\n`)
  if (start === -1) return [{ path, line: 1, message: `has no section "${heading}"` }]
  const behind = text.indexOf('\n## ', start + heading.length)
  const section = blank(text.slice(0, start)) + text.slice(start, behind === -1 ? undefined : behind)
  const listed = tableRowsOf(section).map(({ cells, line }) => ({ name: cells[0]?.replaceAll('`', '') ?? '', line }))
  const index = expected.findIndex((name, at) => listed[at]?.name !== name)
  const surplus = listed[expected.length]
  if (index !== -1) {
    const line = listed[index]?.line ?? lineAt(text, start + 1)
    return [{ path, line, message: `lists ${listed[index]?.name ?? 'nothing'} where the order has ${expected[index]}` }]
  }
  return surplus === undefined
    ? []
    : [{ path, line: surplus.line, message: `lists ${surplus.name}, which the order does not have` }]
}
