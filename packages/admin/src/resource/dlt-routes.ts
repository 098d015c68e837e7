import type { PurgeReport, ReplaySelection } from '@waybill/connector/internal'
import { OptionsError } from '@waybill/core'
import type { StoredOperation } from '@waybill/core/internal'
import { isPlainObject } from '@waybill/core/option'
import type { SelectionCounts } from '../operations/count-selection.ts'
import type { OperationRequest, ReplayRequest } from '../operations/operation-request.ts'
import type { Answer, Call } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, named, nullable, optional, type Schema, withDefault } from '../schema/schema.ts'
import { age, boolean, instant, int64, integer, oneOf } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { type FoundBinding, findBinding } from '../service/find-binding.ts'
import { words } from './answer-schemas.ts'
import { awaitOperation, operationAnswer } from './await-operation.ts'
import { checkState, labelOf } from './command-routes.ts'
import { DeadLetterStatistics, statsAnswer } from './dlt-statistics.ts'

const count = integer({ min: 1, max: 1_000_000 })
const selection = {
  count: optional(about('The next ones after the position of replays.', count)),
  from: optional(about('The beginning of a window: when they were written.', instant)),
  to: optional(about('The end of the window, excluded.', instant)),
}

const runFields = { operation: words, state: optional(words), complete: optional(boolean), dryRun: optional(boolean) }

const replayAnswer: Schema = named(
  'ReplayReport',
  object({
    ...runFields,
    operation: nullable(words),
    replayed: optional(integer()),
    skipped: optional(mapOf(integer())),
    remaining: optional(int64),
    available: optional(int64),
  }),
)

const purgeAnswer: Schema = named(
  'PurgeReport',
  object({
    ...runFields,
    operation: nullable(words),
    purged: optional(int64),
    notReplayed: optional(int64),
    byGroup: optional(list(object({ consumerGroup: nullable(words), count: integer() }))),
  }),
)

/**
 * Routes of the dead letter topics of a binding. A change is an operation that the request waits for: without a rate and an
 * abort rule of its own, as these routes have none.
 */
export function dltRoutes(services: AdminServices): readonly Route[] {
  const { connector } = services
  const tag = 'Dead letter topics'
  const statistics = new DeadLetterStatistics(services)
  const planned = (found: FoundBinding, call: Call, request: ReplayRequest): Promise<Answer> =>
    plannedReplay(services, statistics, { found, call, request })
  return [
    route({
      id: 'replayDlt',
      method: 'POST',
      path: '/eventbus/bindings/{name}/dlt/replay',
      tag,
      summary: 'Replays the next dead letters, or those written in a window',
      access: { permission: 'dlt:replay', of: 'SUBJECT' },
      query: { ...selection, target: optional(oneOf(['ORIGINAL', 'BINDING'])) },
      change: { operation: 'REPLAY', isDestructive: false },
      answer: replayAnswer,
      run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:replay')
        const { target, ...given } = call.query
        const which = selected(selectionOf(given))
        const to = target === undefined ? {} : { target }
        const request = { type: 'REPLAY', binding: labelOf(found), ...which, ...to } as const
        if (call.isDryRun) return planned(found, call, request)
        return waited(services, call, request, replayView)
      },
    }),
    route({
      id: 'replayToTier',
      method: 'POST',
      path: '/eventbus/bindings/{name}/dlt/replay-to-tier',
      tag,
      summary: 'Copies dead letters to a retry tier',
      access: { permission: 'dlt:replay', of: 'SUBJECT' },
      query: { tier: about('Counted from 1.', integer({ min: 1, max: 100 })), ...selection },
      change: { operation: 'REPLAY_TO_TIER', isDestructive: false },
      answer: replayAnswer,
      run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:replay')
        const { tier, ...given } = call.query
        const which = selected(selectionOf(given))
        const request = { type: 'REPLAY_TO_TIER', binding: labelOf(found), tier, ...which } as const
        if (call.isDryRun) return planned(found, call, request)
        return waited(services, call, request, replayView)
      },
    }),
    route({
      id: 'releaseDlt',
      method: 'POST',
      path: '/eventbus/bindings/{name}/dlt/release',
      tag,
      summary: 'Lets keys continue without their dead letters',
      access: { permission: 'dlt:release', of: 'SUBJECT' },
      query: selection,
      change: { operation: 'RELEASE', isDestructive: true },
      answer: replayAnswer,
      run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:release')
        const which = selected(selectionOf(call.query))
        const request = { type: 'RELEASE', binding: labelOf(found), ...which } as const
        if (call.isDryRun) return planned(found, call, request)
        return waited(services, call, request, replayView)
      },
    }),
    route({
      id: 'getDltStats',
      method: 'GET',
      path: '/eventbus/bindings/{name}/dlt/stats',
      tag,
      summary: 'Counts the dead letters of a binding',
      access: { permission: 'dlt:read', of: 'SUBJECT' },
      answer: statsAnswer,
      async run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:read')
        const isFresh = (call.request.headers['cache-control'] ?? '').includes('no-cache')
        return statistics.answer(found, call, isFresh)
      },
    }),
    route({
      id: 'purgeDlt',
      method: 'DELETE',
      path: '/eventbus/bindings/{name}/dlt',
      tag,
      summary: 'Deletes dead letters older than an age',
      access: { permission: 'dlt:purge', of: 'SUBJECT' },
      query: {
        olderThan: about('An age such as P7D: bare digits could be an instant.', age),
        includeOtherGroups: withDefault(about('Deletes dead letters of other groups, too.', boolean), false),
      },
      change: { operation: 'PURGE', isDestructive: true },
      answer: purgeAnswer,
      async run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'dlt:purge')
        const { olderThan: olderThanMs, includeOtherGroups } = call.query
        const binding = labelOf(found)
        if (!call.isDryRun)
          return waited(services, call, { type: 'PURGE', binding, olderThanMs, includeOtherGroups }, purgedView)
        const options = { includeOtherGroups, dryRun: true }
        const report = await found.connector.admin.purgeDlt(binding, olderThanMs, call.operator, options)
        const { purged, notReplayed, byGroup } = report
        return { body: { dryRun: true, operation: null, purged, notReplayed, byGroup: groupsView(byGroup) } }
      },
    }),
  ]
}

/** @throws OptionsError unless it is a count or a window */
function selectionOf(given: {
  readonly count: number | undefined
  readonly from: number | undefined
  readonly to: number | undefined
}): ReplaySelection {
  const { count: most, from, to } = given
  if (from === undefined && to === undefined) {
    if (most === undefined) throw wrong('count', 'is required without from and to')
    return { count: most }
  }
  if (from === undefined) throw wrong('from', 'is required with to')
  if (to === undefined) throw wrong('to', 'is required with from')
  if (from >= to) throw wrong('to', 'must be later than from')
  return { from, to, ...(most === undefined ? {} : { count: most }) }
}

function wrong(path: string, problem: string): OptionsError {
  return new OptionsError('The query', [{ path, problem }])
}

const unlimited = { limit: 1_000_000, rate: 10_000, abortWhen: false } as const

/** Returns a selection as operations take it: a window is a filter, a count continues after the position of replays. */
function selected(which: ReplaySelection): Pick<ReplayRequest, 'next' | 'filter' | 'limit' | 'rate' | 'abortWhen'> {
  if (!('from' in which)) return { next: which.count }
  const { from: sinceMs, to: untilMs, count: limit = unlimited.limit } = which
  return { filter: { sinceMs, untilMs }, ...unlimited, limit }
}

/** Plans a replay. A window is read and counted as a run would take it; a count continues after the last replay by count. */
async function plannedReplay(
  { operations }: AdminServices,
  statistics: DeadLetterStatistics,
  { found, call, request }: { readonly found: FoundBinding; readonly call: Call; readonly request: ReplayRequest },
): Promise<Answer> {
  checkState(found, 'destroy')
  const dryRun = { dryRun: true, operation: null }
  if (request.next !== undefined) {
    const { notReplayed } = await statistics.read(found, false)
    return { body: { ...dryRun, available: notReplayed } }
  }
  const { eligible, refused } = (await operations.plan(request, call.operator)) as SelectionCounts
  const skipped = Object.fromEntries(Object.entries(refused).map(([reason, letters]) => [reason, Number(letters)]))
  return { body: { ...dryRun, available: eligible, skipped } }
}

/** Runs a change as an operation, and answers with its report if it ends while the client waits. */
async function waited(
  services: AdminServices,
  call: Call,
  request: OperationRequest,
  reportOf: (operation: StoredOperation) => object,
): Promise<Answer> {
  const created = await services.operations.create(request, call.operator)
  return operationAnswer(await awaitOperation(services, created, call), reportOf)
}

function replayView({ progress }: StoredOperation): object {
  const { position } = (progress.cursor ?? {}) as { readonly position?: { readonly remaining?: string } }
  const unread = progress.remaining.reduce((sum, { from, until }) => sum + until - from, 0n)
  return {
    replayed: Number(progress.sent),
    skipped: Object.fromEntries(Object.entries(progress.refused).map(([reason, skipped]) => [reason, Number(skipped)])),
    remaining: position?.remaining ?? unread,
  }
}

function purgedView({ progress, plan }: StoredOperation): object {
  const { notReplayed = '0', byGroup = [] } = (isPlainObject(plan) ? plan : {}) as {
    readonly notReplayed?: string
    readonly byGroup?: PurgeReport['byGroup']
  }
  return { purged: progress.sent, notReplayed, byGroup: groupsView(byGroup) }
}

function groupsView(byGroup: PurgeReport['byGroup']): readonly object[] {
  return byGroup.map(({ consumerGroup, count: letters }) => ({ consumerGroup: consumerGroup ?? null, count: letters }))
}
