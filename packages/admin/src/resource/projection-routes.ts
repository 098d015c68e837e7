import type { ProjectionBuild } from '@waybill/core/internal'
import { readCursor, writeCursor } from '../json/cursor.ts'
import { instantOf } from '../json/write-json.ts'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import { type Call, requirePermission } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, object } from '../schema/composite-schemas.ts'
import { named, nullable, type Schema } from '../schema/schema.ts'
import { boolean, instant, int64, integer, openWord } from '../schema/value-schemas.ts'
import type { AdminProjection } from '../service/admin-projection.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { bindingKey } from '../service/find-binding.ts'
import { textView } from '../service/payload-view.ts'
import { byteViewSchema, pageFields, pageOf, words } from './answer-schemas.ts'

const tag = 'Projections'
const buildStates = ['CATCHING_UP', 'VERIFYING', 'READY', 'LIVE', 'RETIRED', 'FAILED', 'CANCELLED'] as const

const buildSchema: Schema = object({
  build: integer(),
  revision: integer(),
  state: openWord(buildStates),
  reason: nullable(words),
  changedAt: nullable(instant),
})

const summaryFields = {
  projection: words,
  revision: integer(),
  /** The table that queries see; null before the first event. */
  live: nullable(buildSchema),
  /** The table that is being built beside it. */
  rebuild: nullable(buildSchema),
  quarantinedKeys: int64,
  lagRecords: nullable(int64),
  canRebuild: boolean,
} as const

const projectionSchema: Schema = named('Projection', object(summaryFields))

const detailSchema: Schema = named(
  'ProjectionDetail',
  object({
    ...summaryFields,
    builds: list(buildSchema),
    positions: list(object({ build: integer(), topic: words, partition: integer(), next: int64 })),
  }),
)

const quarantinedSchema: Schema = named(
  'QuarantinedKey',
  object({
    key: nullable(byteViewSchema),
    reason: openWord(['GAP', 'POISON']),
    expectedVersion: integer(),
    foundVersion: integer(),
    lastVersion: integer(),
    since: instant,
  }),
)

interface Found {
  readonly name: string
  readonly own: AdminProjection
}

/** Routes of projections. */
export function projectionRoutes(services: AdminServices): readonly Route[] {
  const { options } = services
  const access = { permission: 'projections:read', of: 'SUBJECT' } as const
  return [
    route({
      id: 'listProjections',
      method: 'GET',
      path: '/eventbus/projections',
      tag,
      summary: 'Lists projections with their live table, their lag and their quarantined keys',
      access: { permission: 'projections:read', of: 'SOME' },
      answer: object({ items: list(projectionSchema), next: nullable(words) }),
      async run({ grants }) {
        const visible = Object.entries(options.projections).filter(([name]) => grants.allows('projections:read', name))
        const items = visible.map(([name, own]) => summaryOf(services, { name, own }))
        return { body: { items: await Promise.all(items), next: null } }
      },
    }),
    route({
      id: 'getProjection',
      method: 'GET',
      path: '/eventbus/projections/{name}',
      tag,
      summary: 'Shows a projection with its tables and positions',
      access,
      answer: detailSchema,
      async run(call) {
        const found = findProjection(services, call)
        const { projection, store } = found.own
        const builds = await store.builds(projection.name)
        const positions = await Promise.all(
          builds.filter(isKept).map(async (build) => {
            const next = await store.positions(build)
            return next.map((one) => ({
              build: build.number,
              topic: one.topic,
              partition: one.partition,
              next: one.next,
            }))
          }),
        )
        return {
          body: {
            ...(await summaryOf(services, found)),
            builds: builds.map(buildView),
            positions: positions.flat(),
          },
        }
      },
    }),
    route({
      id: 'listQuarantine',
      method: 'GET',
      path: '/eventbus/projections/{name}/quarantine',
      tag,
      summary:
        'Lists keys of which an event is missing or cannot be applied; only the first page without payloads:read',
      access,
      query: pageFields,
      answer: pageOf(quarantinedSchema),
      async run(call) {
        const { name, own } = findProjection(services, call)
        const { limit, cursor } = call.query
        const after = readCursor(cursor, { name })
        if (own.quarantine === undefined)
          throw new AdminNotFoundError('The quarantined keys of this projection are not shown.', 'Pass its quarantine.')
        const keys = await own.quarantine.list(
          { limit: limit + 1, ...(after === undefined ? {} : { after }) },
          call.operator,
        )
        const page = keys.slice(0, limit)
        const last = page.at(-1)
        const isShown = call.grants.allows('payloads:read', name)
        return {
          body: {
            items: page.map(({ key, reason, expected, found, last: lastVersion, since }) => ({
              key: textView(key, isShown),
              reason,
              expectedVersion: expected,
              foundVersion: found,
              lastVersion,
              since: instantOf(since),
            })),
            // A cursor holds a key, which is a payload.
            next: keys.length > limit && last !== undefined && isShown ? writeCursor(last.key, { name }) : null,
          },
        }
      },
    }),
  ]
}

/** @throws AdminNotFoundError, OperationForbiddenError */
function findProjection({ options }: AdminServices, call: Call): Found {
  const { name = '' } = call.params
  requirePermission(call, 'projections:read', name)
  const own = Object.hasOwn(options.projections, name) ? options.projections[name] : undefined
  if (own === undefined) throw new AdminNotFoundError('There is no such projection.')
  return { name, own }
}

function isKept({ state }: ProjectionBuild): boolean {
  return state !== 'FAILED' && state !== 'CANCELLED'
}

async function summaryOf({ connector }: AdminServices, { name, own }: Found): Promise<object> {
  const { projection, store, rebuild, binding } = own
  const builds = await store.builds(projection.name)
  const live = builds.find(({ state }) => state === 'LIVE')
  const building = builds.findLast(({ state }) => ['CATCHING_UP', 'VERIFYING', 'READY'].includes(state))
  const view = connector?.listBindings().find((one) => bindingKey(one) === binding)
  const lags = view === undefined ? [] : (connector?.admin.binding(`${view.cluster}:${view.name}`).lag ?? [])
  const isKnown = lags.length > 0 && lags.every(({ records }) => records !== undefined)
  return {
    projection: name,
    revision: projection.revision,
    live: live === undefined ? null : buildView(live),
    rebuild: building === undefined ? null : buildView(building),
    quarantinedKeys: BigInt(live === undefined ? 0 : await store.countQuarantined(live)),
    lagRecords: isKnown ? lags.reduce((sum, { records = 0n }) => sum + records, 0n) : null,
    canRebuild: rebuild !== undefined,
  }
}

function buildView({ number, revision, state, reason, changedAt }: ProjectionBuild): object {
  return { build: number, revision, state, reason, changedAt: instantOf(changedAt) }
}
