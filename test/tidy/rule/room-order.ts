import { importsOf, isRelative, resolveRelative } from '../module-import.ts'
import { folderOf, isEntry, sourceFilesOf } from '../package-folder.ts'
import type { Finding, Rule, Tree } from '../tree.ts'

/** The folders of a package, in the order in which a reader meets them. */
export interface RoomPlan {
  readonly within: string
  /**
   * Each may import those before it, and itself. A nested folder is a room of its own, and so is a file beside the
   * rooms.
   */
  readonly rooms: readonly string[]
  /** Rooms that are alternatives: none of them imports another. */
  readonly strangers?: readonly string[]
}

/** A folder of one of these packages that is not here is a finding too. */
export const roomPlans: readonly RoomPlan[] = [
  {
    within: 'packages/core/src',
    rooms: [
      'errors.ts',
      'page.ts',
      'option',
      'telemetry',
      'runtime',
      'metrics',
      'id',
      'audit',
      'header',
      'partition',
      'database',
      'retry',
      'breaker',
      'failure',
      'lifecycle',
      'backpressure',
      'event',
      'event/wire',
      'catalog',
      'idempotency',
      'projection',
      'operate',
    ],
  },
  {
    within: 'packages/outbox/src',
    rooms: [
      'api',
      'loops',
      'options',
      'write',
      'claim',
      'destination',
      'dispatch',
      'settle',
      'relay',
      'keyed',
      'upkeep',
      'health',
      'modes',
      'parts',
    ],
    strangers: ['relay', 'keyed', 'upkeep'],
  },
  {
    within: 'packages/contract/src',
    rooms: [
      'policy',
      'pattern',
      'schema',
      'validate',
      'contain',
      'sample',
      'rule',
      'compare',
      'file',
      'asyncapi',
      'gate',
      'trial',
      'report',
      'repository',
      'waiting',
      'command',
      'registry',
      'codec',
    ],
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
      'shared-log',
    ],
  },
  {
    within: 'packages/telemetry/src',
    rooms: ['metrics', 'tracing', 'prom-client.ts', 'opentelemetry.ts'],
  },
  {
    within: 'packages/sql/src',
    rooms: [
      'error',
      'database',
      'dialect',
      'adapter',
      'inbox',
      'request',
      'outbox/row',
      'outbox/statement',
      'outbox',
      'projection',
      'operation',
      'shared-log',
      'dead-letter',
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
      'fleet',
      'health',
      'thresholds',
      'engine',
    ],
    strangers: ['partition/lanes', 'partition/key-order', 'partition/transaction'],
  },
  {
    within: 'packages/projection/src',
    rooms: ['definition', 'fold', 'memory', 'projector', 'quarantine', 'rebuild', 'spec'],
  },
  {
    within: 'packages/admin/src',
    rooms: [
      'dead-letters',
      'operations',
      'http',
      'access',
      'problem',
      'json',
      'schema',
      'route',
      'limit',
      'service',
      'resource',
      'stream',
      'triage',
      'server',
      'mount',
      'command',
    ],
  },
  {
    within: 'packages/sim/src',
    rooms: ['time', 'process', 'cluster', 'sql'],
    strangers: ['cluster', 'sql'],
  },
  {
    within: 'packages/testkit/src',
    rooms: [
      'require-argument.ts',
      'wait',
      'leak',
      'fault-proxy',
      'connector',
      'conformance/suite',
      'conformance/control',
      'conformance/idempotency',
      'conformance/request',
      'conformance/outbox',
      'conformance/projection',
      'conformance/operation',
      'conformance/shared-log',
      'conformance/dead-letter',
    ],
    strangers: [
      'conformance/control',
      'conformance/idempotency',
      'conformance/request',
      'conformance/outbox',
      'conformance/projection',
      'conformance/operation',
      'conformance/shared-log',
      'conformance/dead-letter',
    ],
  },
]

/** A file or an import that does not fit the order of its package. */
export interface RoomObjection extends Finding {
  readonly kind: 'NO_ROOM' | 'UPWARD' | 'STRANGER' | 'ENTRY'
  /** True for an import of types alone. */
  readonly isTypeOnly: boolean
}

/** Checks that folders of a package import in one direction. */
export const roomOrderRule: Rule = {
  title: 'a folder imports only those above it in the order of its package',
  why:
    'Folders that import each other can only be read together. Move what both need into the upper one, or pass it in; ' +
    "change the order in test/tidy/rule/room-order.ts only together with the package's README.",
  find: (tree) => roomPlans.flatMap((plan) => roomObjectionsIn(tree, plan)),
}

/** Returns every file without a room and every import against the order. Imports of types count like those of values. */
export function roomObjectionsIn(tree: Tree, plan: RoomPlan): RoomObjection[] {
  return sourceFilesOf(tree, plan.within).flatMap(([path, text]): RoomObjection[] => {
    if (isEntry(path)) return []
    const room = roomOf(plan, path)
    if (room === undefined)
      return [{ kind: 'NO_ROOM', path, line: 1, isTypeOnly: false, message: `is in no room of ${plan.within}` }]
    return importsOf(text).flatMap(({ specifier, line, isTypeOnly }): RoomObjection[] => {
      if (specifier === undefined || !isRelative(specifier)) return []
      const objection = objectionTo(plan, room, resolveRelative(path, specifier))
      return objection === undefined ? [] : [{ ...objection, path, line, isTypeOnly }]
    })
  })
}

function objectionTo(
  plan: RoomPlan,
  room: string,
  target: string,
): Pick<RoomObjection, 'kind' | 'message'> | undefined {
  if (!target.startsWith(`${plan.within}/`)) return undefined
  if (isEntry(target))
    return { kind: 'ENTRY', message: `imports the entry ${target}: import the file that declares the name` }
  const other = roomOf(plan, target)
  if (other === undefined || other === room) return undefined
  const which = `imports ${roomName(other)} from ${roomName(room)}`
  if (plan.strangers?.includes(room) === true && plan.strangers.includes(other))
    return { kind: 'STRANGER', message: `${which}: neither may know the other` }
  if (plan.rooms.indexOf(other) < plan.rooms.indexOf(room)) return undefined
  return { kind: 'UPWARD', message: `${which}, but ${roomName(other)} stands below it` }
}

/** Returns the room as documents write it: a folder with its slash, a file without. */
export function roomName(room: string): string {
  return room.endsWith('.ts') ? room : `${room}/`
}

/** Returns the file itself where it is listed, otherwise its folder: a nested folder is not part of the one around it. */
function roomOf({ within, rooms }: RoomPlan, path: string): string | undefined {
  const file = path.slice(within.length + 1)
  return rooms.includes(file) ? file : rooms.find((room) => room === folderOf(path))
}
