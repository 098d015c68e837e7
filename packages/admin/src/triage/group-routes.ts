import type { FailureGroup } from '@waybill/core/internal'
import { sparksOf } from '../dead-letters/group-sparks.ts'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import { pageFields } from '../resource/answer-schemas.ts'
import { groupView, sourceView } from '../resource/letter-view.ts'
import { type Call, requirePermission } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { about, nullable, optional, withDefault } from '../schema/schema.ts'
import { oneOf, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { letterQueryFields, readFilter, readLetterCursor, resolvedView, writeLetterCursor } from './letter-query.ts'
import { groupSchema, groupsSchema } from './letter-schemas.ts'

const tag = 'Dead letters'
const orders = { count: 'COUNT', last: 'LAST', first: 'FIRST' } as const
const noFilter = {
  binding: undefined,
  cluster: undefined,
  topic: undefined,
  group: undefined,
  event: undefined,
  exception: undefined,
  reason: undefined,
  state: undefined,
  key: undefined,
  since: undefined,
  until: undefined,
  minAttempts: undefined,
  replayCount: undefined,
  traceId: undefined,
  q: undefined,
}

/** Routes of failure groups. */
export function groupRoutes(services: AdminServices): readonly Route[] {
  return [listRoute(services), detailRoute(services), triageRoute(services)]
}

function listRoute(services: AdminServices): Route {
  const { letters, options } = services
  return route({
    id: 'listFailureGroups',
    method: 'GET',
    path: '/eventbus/dead-letters/groups',
    tag,
    summary: 'Lists failures: dead letters with the same error class, message without ids, first own frame and event',
    access: { permission: 'dlt:read', of: 'SOME' },
    query: {
      ...letterQueryFields,
      sort: withDefault(
        about('The largest, the newest, or the ones seen first last.', oneOf(['count', 'last', 'first'])),
        'count',
      ),
      ...pageFields,
    },
    answer: groupsSchema,
    async run(call) {
      const { limit, cursor, ...query } = call.query
      const from = readLetterCursor(cursor, query, 'GROUPS')
      const { sort, ...asked } = query
      const read = readFilter(services, call, asked, from.nowMs ?? options.runtime.clock.now())
      await letters.current()
      const page = { limit, cursor: from.cursor }
      const { items, next, total } = await letters.index.groups(read.filter, orders[sort], page)
      const ids = items.map(({ group }) => group)
      const sparkOf = await sparksOf(letters.index, read.filter, ids, options.runtime.clock.now())
      return {
        body: {
          items: items.map((group) => groupView(group, call, sparkOf?.(group.group))),
          next: writeLetterCursor(next, read.nowMs, query),
          ...(total === undefined ? {} : { total: { count: total.count, exact: total.isExact } }),
          filter: resolvedView(read),
          source: sourceView(await letters.source()),
        },
      }
    },
  })
}

function detailRoute(services: AdminServices): Route {
  return route({
    id: 'getFailureGroup',
    method: 'GET',
    path: '/eventbus/dead-letters/groups/{group}',
    tag,
    summary: 'Shows a failure group',
    access: { permission: 'dlt:read', of: 'SOME' },
    answer: groupSchema,
    run: async (call) => ({ body: await shownGroup(services, call) }),
  })
}

function triageRoute(services: AdminServices): Route {
  const { letters, audited } = services
  return route({
    id: 'triageFailureGroup',
    method: 'PATCH',
    path: '/eventbus/dead-letters/groups/{group}',
    tag,
    summary: 'Sets the state or the note of a failure group. A resolved one opens again with its next dead letter',
    access: { permission: 'dlt:triage', of: 'SOME' },
    body: {
      state: optional(oneOf(['OPEN', 'RESOLVED', 'IGNORED'])),
      note: optional(about('Null removes it.', nullable(text({ max: 2_000 })))),
    },
    change: { operation: 'TRIAGE', isDestructive: false },
    answer: groupSchema,
    async run(call) {
      const known = await findGroup(services, call)
      const { group, binding = '*' } = known
      for (const subject of await bindingsOf(services, group)) requirePermission(call, 'dlt:triage', subject)
      const { state, note } = call.body
      if (call.isDryRun) return { body: groupView({ ...known, state: state ?? known.state }, call) }
      const change = { ...(state === undefined ? {} : { state }), ...(note === undefined ? {} : { note }) }
      await audited.run(
        { operation: 'TRIAGE', target: binding, request: { group, ...change }, operator: call.operator },
        () => letters.index.annotate(group, change, call.identity.by),
        () => undefined,
      )
      return { body: await shownGroup(services, call) }
    },
  })
}

async function shownGroup(services: AdminServices, call: Call): Promise<object> {
  const { letters, options } = services
  const group = await findGroup(services, call)
  const { filter } = readGroupFilter(services, call)
  const sparkOf = await sparksOf(letters.index, filter, [group.group], options.runtime.clock.now())
  return groupView(group, call, sparkOf?.(group.group))
}

function readGroupFilter(services: AdminServices, call: Call): ReturnType<typeof readFilter> & { group: string } {
  const group = (call.params['group'] ?? '').slice(0, 100)
  const read = readFilter(services, call, { ...noFilter, group }, services.options.runtime.clock.now())
  return { ...read, group }
}

/** @throws AdminNotFoundError, also for a group of bindings that the operator may not see */
async function findGroup(services: AdminServices, call: Call): Promise<FailureGroup> {
  const { letters } = services
  const { filter, group } = readGroupFilter(services, call)
  await letters.current()
  const [found] = (await letters.index.groups(filter, 'COUNT', { limit: 1 })).items
  if (found === undefined) throw new AdminNotFoundError(`There is no failure group '${group}', or not for you.`)
  return found
}

/** The bindings of a group. A dead letter without one needs the permission for all. */
async function bindingsOf({ letters }: AdminServices, group: string): Promise<readonly (string | undefined)[]> {
  const { binding } = await letters.index.facets({ group }, ['binding'])
  return (binding?.values ?? []).map(({ value }) => (value === '' ? undefined : value))
}
