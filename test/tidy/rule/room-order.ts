import { importsOf, isRelative, resolveRelative } from '../module-import.ts'
import { type Finding, filesOf, packageSource, type Rule } from '../tree.ts'

/** The folders of a package, in the order in which a reader meets them. */
export interface RoomPlan {
  readonly within: string
  /** Each may import those before it, and itself. A longer path is a room of its own, and so is a file beside the rooms. */
  readonly rooms: readonly string[]
  /** Rooms that are ways to do the same: none of them knows another. */
  readonly strangers?: readonly string[]
}

/** A folder of one of these packages that is not here is a finding too. */
export const roomPlans: readonly RoomPlan[] = [
  {
    within: 'packages/core/src',
    rooms: [
      'errors.ts',
      'option',
      'telemetry',
      'runtime',
      'id',
      'header',
      'codec',
      'partition',
      'database',
      'retry',
      'breaker',
      'failure',
      'lifecycle',
      'event',
      'event/wire',
      'catalog',
      'idempotency',
    ],
  },
  {
    within: 'packages/outbox/src',
    rooms: ['api', 'loops', 'options', 'write', 'claim', 'dispatch', 'settle', 'relay', 'keyed', 'upkeep', 'modes'],
    strangers: ['relay', 'keyed', 'upkeep'],
  },
  {
    within: 'packages/kafka/src',
    rooms: [
      'wire/records',
      'wire/api',
      'wire/broker',
      'client/cluster',
      'client/group',
      'client/fetch',
      'client/consume',
      'client/producer',
      'client/admin',
      'client',
      'topology',
      'publish',
    ],
  },
  {
    within: 'packages/sql/src',
    rooms: [
      'error',
      'database',
      'dialect',
      'adapter',
      'inbox',
      'idempotency',
      'wake-up',
      'outbox/row',
      'outbox/statement',
      'outbox',
      'migrate',
    ],
  },
  {
    within: 'packages/connector/src',
    rooms: [
      'ledger',
      'api',
      'binding',
      'records',
      'handlers',
      'options',
      'config',
      'topics',
      'delivery',
      'partition',
      'partition/lanes',
      'partition/key-order',
      'partition/transaction',
      'group',
      'replay',
      'losses',
      'positions',
      'run',
      'operations',
      'health',
      'engine',
    ],
    strangers: ['partition/lanes', 'partition/key-order', 'partition/transaction'],
  },
]

/** Folders of a package import in one direction. */
export const roomOrderRule: Rule = {
  title: 'a folder imports only those above it in the order of its package',
  why:
    'Folders that import each other can only be read together. Move what both need into the upper one, or hand it in; ' +
    'change the order in test/tidy/rule/room-order.ts only together with ARCHITECTURE.md.',
  find: (tree) =>
    filesOf(tree, packageSource).flatMap(([path, text]) => {
      const plan = roomPlans.find(({ within }) => path.startsWith(`${within}/`))
      if (plan === undefined || isEntry(plan, path)) return []
      const room = roomOf(plan, path)
      if (room === undefined) return [{ path, line: 1, message: `is in no room of ${plan.within}` }]
      return importsOf(text).flatMap(({ specifier, line }): Finding[] => {
        if (specifier === undefined || !isRelative(specifier)) return []
        const message = objectionTo(plan, room, resolveRelative(path, specifier))
        return message === undefined ? [] : [{ path, line, message }]
      })
    }),
}

function objectionTo(plan: RoomPlan, room: string, target: string): string | undefined {
  if (isEntry(plan, target)) return `imports the entry ${target}: import the file that declares the name`
  const other = roomOf(plan, target)
  if (other === undefined || other === room) return undefined
  if (plan.strangers?.includes(room) === true && plan.strangers.includes(other))
    return `imports ${named(other)} from ${named(room)}: neither may know the other`
  if (plan.rooms.indexOf(other) < plan.rooms.indexOf(room)) return undefined
  return `imports ${named(other)} from ${named(room)}, which stands above it`
}

const named = (room: string): string => (room.endsWith('.ts') ? room : `${room}/`)

/** The longest room that the file is in. */
function roomOf({ within, rooms }: RoomPlan, path: string): string | undefined {
  return rooms
    .filter((room) => path === `${within}/${room}` || path.startsWith(`${within}/${room}/`))
    .toSorted((one, other) => other.length - one.length)[0]
}

/** Entries stand outside the rooms: they list what all of them offer. */
function isEntry({ within }: RoomPlan, path: string): boolean {
  return path.startsWith(`${within}/`) && /\/(?:index|internal)\.ts$/.test(path)
}
