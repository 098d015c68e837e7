import type { AuditRow, BindingView } from '@waybill/connector'
import { readCursor, writeCursor } from '../json/cursor.ts'
import { instantOf } from '../json/write-json.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { named, nullable, optional, type Schema } from '../schema/schema.ts'
import { anyJson, anyNumber, instant, int64, integer, oneOf, openWord, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey, findBinding, visibleBindings } from '../service/find-binding.ts'
import { countsSchema, pageFields, pageOf, words } from './answer-schemas.ts'
import { labelsOf, latest, summaryOf } from './binding-view.ts'

const states = ['CREATED', 'RUNNING', 'PAUSED', 'STOPPED', 'DESTROYED'] as const

const summaryFields = {
  key: words,
  name: words,
  cluster: words,
  topic: words,
  topics: list(words),
  groupId: words,
  state: openWord(states),
  pausedBy: list(words),
  /** The worst of all instances. */
  breaker: object({
    state: openWord(['CLOSED', 'OPEN', 'HALF_OPEN']),
    failureRate: nullable(anyNumber),
    slowRate: nullable(anyNumber),
    calls: nullable(integer()),
    nextProbeAt: nullable(instant),
  }),
  instances: object({ alive: integer(), running: integer(), paused: integer(), other: integer() }),
  lag: object({ records: nullable(int64), seconds: nullable(anyNumber) }),
  retrying: nullable(int64),
  dead: object({ depth: nullable(int64) }),
  rates: object({
    processedPerSecond: nullable(anyNumber),
    failedPerSecond: nullable(anyNumber),
    deadPerMinute: nullable(anyNumber),
  }),
  asOf: instant,
} as const

const bindingSchema: Schema = named('Binding', object(summaryFields))

const detailSchema: Schema = named(
  'BindingDetail',
  object({
    ...summaryFields,
    configuration: mapOf(anyJson),
    containers: list(anyJson),
    counters: object({
      processed: nullable(int64),
      failed: nullable(int64),
      dead: nullable(int64),
      skipped: countsSchema,
      byException: countsSchema,
    }),
    findings: list(words),
  }),
)

const auditRowSchema: Schema = named(
  'LossAuditRow',
  object({
    topic: words,
    partition: integer(),
    binding: words,
    groupId: words,
    since: int64,
    committed: int64,
    settledAbove: int64,
    ok: int64,
    retried: int64,
    dead: int64,
    skipped: int64,
    holes: int64,
    waiting: int64,
    waitedOk: int64,
    waitedDead: int64,
    missing: int64,
    /** Null: every equation of the audit holds. */
    problem: nullable(words),
    moved: nullable(object({ times: integer(), at: nullable(instant), from: nullable(int64), to: int64, by: words })),
  }),
)

/** Routes that read bindings. */
export function bindingRoutes(services: AdminServices): readonly Route[] {
  const { connector } = services
  const read = { permission: 'bindings:read', of: 'SUBJECT' } as const
  const tag = 'Bindings'
  return [
    route({
      id: 'listBindings',
      method: 'GET',
      path: '/eventbus/bindings',
      tag,
      summary: 'Lists bindings with their state',
      access: { permission: 'bindings:read', of: 'SOME' },
      query: { state: optional(oneOf(states)), cluster: optional(text({ max: 200 })), ...pageFields },
      answer: pageOf(bindingSchema),
      async run({ grants, query: { state, cluster, limit, cursor } }) {
        const filter = { state, cluster }
        const all = visibleBindings(connector, grants)
          .filter((view) => (state ?? view.state) === view.state && (cluster ?? view.cluster) === view.cluster)
          .toSorted((one, other) => (bindingKey(one) < bindingKey(other) ? -1 : 1))
        const after = readCursor(cursor, filter)
        const rest = after === undefined ? all : all.filter((view) => bindingKey(view) > after)
        const page = rest.slice(0, limit)
        const last = page.at(-1)
        return {
          body: {
            items: await Promise.all(page.map((view) => summaryOf(services, view))),
            next: rest.length > limit && last !== undefined ? writeCursor(bindingKey(last), filter) : null,
            total: { count: BigInt(all.length), exact: true },
          },
        }
      },
    }),
    route({
      id: 'getBinding',
      method: 'GET',
      path: '/eventbus/bindings/{name}',
      tag,
      summary: 'Shows a binding with its configuration, containers, counters and findings',
      access: read,
      answer: detailSchema,
      async run(call) {
        const { view } = findBinding(connector, call, call.params['name'] ?? '', 'bindings:read')
        return { body: { ...(await summaryOf(services, view)), ...detailOf(services, view) } }
      },
    }),
    route({
      id: 'getBindingConfiguration',
      method: 'GET',
      path: '/eventbus/bindings/{name}/configuration',
      tag,
      summary: 'Shows the options in effect, code by its name',
      access: read,
      answer: object({ key: words, configuration: mapOf(anyJson) }),
      run(call) {
        const { view, key } = findBinding(connector, call, call.params['name'] ?? '', 'bindings:read')
        return { body: { key, configuration: configurationOf(services, view) } }
      },
    }),
    route({
      id: 'getLossAudit',
      method: 'GET',
      path: '/eventbus/bindings/{name}/audit',
      tag,
      summary: 'Accounts for every record of each partition',
      access: read,
      answer: object({ key: words, items: list(auditRowSchema) }),
      async run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'bindings:read')
        const rows = await found.connector.audit()
        return {
          body: {
            key: found.key,
            items: rows.filter(({ binding }) => binding === found.key || binding === found.view.name).map(auditRowOf),
          },
        }
      },
    }),
  ]
}

function detailOf(services: AdminServices, view: BindingView): object {
  const { options, connector } = services
  const count = (name: string): bigint | null => {
    const value = latest(options, name, labelsOf(view))
    return value === undefined ? null : BigInt(Math.round(value))
  }
  const key = bindingKey(view)
  return {
    configuration: configurationOf(services, view),
    containers: view.containers.map(({ place, pausedBy, members }) => ({
      place,
      pausedBy,
      members: members.map(memberOf),
    })),
    counters: {
      processed: count('eventbus.records.processed'),
      failed: count('eventbus.records.failed'),
      dead: count('eventbus.records.dlq'),
      skipped: countsBy(services, view, 'eventbus.records.skipped', 'cause'),
      byException: countsBy(services, view, 'eventbus.records.failed', 'exception'),
    },
    findings:
      connector?.health().reasons.filter((reason) => mentions(reason, key) || mentions(reason, view.name)) ?? [],
  }
}

function memberOf({
  index,
  instanceId,
  state,
  failure,
  hasPlace,
  unread,
  unreadable,
}: BindingView['containers'][number]['members'][number]): object {
  return { index, instanceId: instanceId ?? null, state, failure: failure ?? null, hasPlace, unread, unreadable }
}

/** A reason names its binding as a word of its own: `Binding orders: …`. */
function mentions(reason: string, key: string): boolean {
  return reason.split(/[\s,;'"]+/).some((word) => word === key || word === `${key}:` || word === `${key}.`)
}

function countsBy({ options }: AdminServices, view: BindingView, name: string, label: string): Record<string, bigint> {
  const counts: Record<string, bigint> = {}
  const { binding, cluster } = labelsOf(view)
  for (const one of options.metrics?.read() ?? []) {
    const word = one.labels[label]
    if (
      one.name !== name ||
      one.labels['binding'] !== binding ||
      one.labels['cluster'] !== cluster ||
      word === undefined
    )
      continue
    counts[word] = (counts[word] ?? 0n) + BigInt(Math.round(one.value))
  }
  return counts
}

function configurationOf({ connector }: AdminServices, view: BindingView): Readonly<Record<string, unknown>> {
  const { options = {} } = connector?.admin.binding(`${view.cluster}:${view.name}`) ?? {}
  return flattened('', options)
}

/** Returns nested options by their path: `retry.tiers[0].delayMs`. */
function flattened(path: string, value: unknown): Record<string, unknown> {
  if (Array.isArray(value) && value.some((one) => typeof one === 'object'))
    return Object.assign({}, ...value.map((one: unknown, index) => flattened(`${path}[${index}]`, one))) as Record<
      string,
      unknown
    >
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { [path]: value }
  const parts = Object.entries(value).map(([key, one]) => flattened(path === '' ? key : `${path}.${key}`, one))
  return Object.assign({}, ...parts) as Record<string, unknown>
}

function auditRowOf({ problem, moved, ...row }: AuditRow): object {
  const { atMs, ...move } = moved ?? { atMs: 0 }
  return {
    ...row,
    problem: problem ?? null,
    moved: moved === undefined ? null : { ...move, at: instantOf(atMs) },
  }
}
