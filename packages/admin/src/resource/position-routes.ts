import type { PositionReport } from '@waybill/connector'
import type { PositionAnswer, PositionTarget } from '@waybill/connector/internal'
import { OptionsError } from '@waybill/core'
import { requireAllDone, type TopicPartition } from '@waybill/kafka'
import { AdminRequestError } from '../problem/admin-errors.ts'
import { type Answer } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { anyOf, list, object } from '../schema/composite-schemas.ts'
import { about, optional, type Schema } from '../schema/schema.ts'
import { instant, int64, integer, oneOf, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { type FoundBinding, findBinding } from '../service/find-binding.ts'
import { commandAnswerSchema } from './answer-schemas.ts'
import { commandAnswer } from './command-answer.ts'
import { checkState, labelOf, plannedAnswer } from './command-routes.ts'

const partition = integer({ max: 1_000_000 })
const container = {
  tier: optional(about('The retry tier, counted from 1. 0 is the source.', integer({ max: 100 }))),
  topic: optional(about('The source topic, if the binding reads several.', text({ max: 249 }))),
}

const end: Schema<'EARLIEST' | 'LATEST'> = oneOf(['EARLIEST', 'LATEST'])
const atTime: Schema<{ readonly timestampMs: number }> = object({ timestampMs: instant })
const atOffset: Schema<{ readonly offset: bigint }> = object({ offset: int64 })
const resetTarget = anyOf<'EARLIEST' | 'LATEST' | { readonly timestampMs: number }>(
  'EARLIEST, LATEST or { timestampMs }',
  [end, atTime],
)
const seekTarget = anyOf<PositionTarget>('EARLIEST, LATEST, { offset } or { timestampMs }', [end, atOffset, atTime])

const movedSchema: Schema = commandAnswerSchema

/** Routes that move the positions of a binding. */
export function positionRoutes(services: AdminServices): readonly Route[] {
  const { connector } = services
  const access = { permission: 'bindings:position', of: 'SUBJECT' } as const
  const tag = 'Positions'
  const answer = movedSchema
  return [
    route({
      id: 'seekPosition',
      method: 'POST',
      path: '/eventbus/bindings/{name}/positions/seek',
      tag,
      summary: 'Moves to an offset, a time, or an end of the log',
      access,
      body: { to: seekTarget, partitions: optional(list(partition, { min: 1, max: 10_000 })), ...container },
      change: { operation: 'SEEK', isDestructive: false },
      answer,
      async run(call): Promise<Answer> {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'bindings:position')
        const { reason: _, ...seek } = withoutUndefined(call.body)
        if (!call.isDryRun) return moved(await found.connector.admin.seek(labelOf(found), seek, call.operator))
        checkState(found, 'seek')
        return planned(services, found, { ...seek, target: seek.to })
      },
    }),
    route({
      id: 'skipRecords',
      method: 'POST',
      path: '/eventbus/bindings/{name}/positions/skip',
      tag,
      summary: 'Skips single records; all others are still delivered',
      access,
      body: { partition, offsets: list(int64, { min: 1, max: 1_000 }), ...container },
      change: { operation: 'SKIP', isDestructive: true },
      answer,
      async run(call): Promise<Answer> {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'bindings:position')
        const { reason: _, ...skip } = withoutUndefined(call.body)
        if (!call.isDryRun) return moved(await found.connector.admin.skip(labelOf(found), skip, call.operator))
        checkState(found, 'skip')
        const count = new Set(skip.offsets).size
        const said = count === 1 ? '1 record gets' : `${count} records get`
        const topic = skip.topic ?? found.view.topics[0] ?? ''
        const lowest = skip.offsets.reduce((one, other) => (other < one ? other : one))
        return {
          body: {
            ...(await plannedAnswer(found)),
            positions: [
              { topic, partition: skip.partition, from: lowest, to: lowest + 1n, skipped: BigInt(count), repeated: 0n },
            ],
            warnings: [`${said} no outcome but 'skipped', and stay in the topic until retention deletes them.`],
          },
        }
      },
    }),
    route({
      id: 'resetPositions',
      method: 'POST',
      path: '/eventbus/bindings/{name}/positions/reset',
      tag,
      summary: 'Resets positions and counters of all partitions',
      access,
      body: { to: resetTarget, ...container },
      change: { operation: 'RESET', isDestructive: true },
      answer,
      async run(call): Promise<Answer> {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'bindings:position')
        const { reason: _, ...reset } = withoutUndefined(call.body)
        if (!call.isDryRun) return moved(await found.connector.admin.reset(labelOf(found), reset, call.operator))
        checkState(found, 'reset')
        return planned(services, found, { ...reset, target: reset.to })
      },
    }),
  ]
}

function moved(answer: PositionAnswer): Answer {
  return { body: { ...commandAnswer(answer), positions: answer.positions } }
}

/** An object whose keys are absent instead of undefined. */
type Present<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
} & { readonly reason?: unknown }

/** Removes absent keys: commands tell their kinds apart by the keys that are there. */
function withoutUndefined<T extends object>(given: T): Present<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as Present<T>
}

interface PlannedMove {
  readonly target: PositionTarget
  readonly partitions?: readonly number[] | undefined
  readonly tier?: number | undefined
  readonly topic?: string | undefined
}

/** Reads where a move would start and end. Nothing is written. */
async function planned(services: AdminServices, found: FoundBinding, move: PlannedMove): Promise<Answer> {
  const { view } = found
  const client = services.options.clusters[view.cluster]
  if (client === undefined)
    throw new AdminRequestError('A move cannot be planned without its cluster.', {
      hint: 'Pass clusters to createAdmin.',
    })
  if ((move.tier ?? 0) > 0)
    throw new AdminRequestError('The move of a retry tier cannot be planned.', {
      hint: 'Send it without dryRun, or move the source.',
    })
  if (typeof move.target === 'object' && 'offset' in move.target && move.partitions === undefined)
    throw new OptionsError('The body', [
      { path: 'partitions', problem: 'is required with an offset, which is another record in each partition' },
    ])
  const topics = move.topic === undefined ? view.topics : view.topics.filter((topic) => topic === move.topic)
  const described = requireAllDone('Describing the topics', await client.admin.describeTopics(topics))
  const partitions = described.flatMap(({ topic, partitions: all }) =>
    all
      .map((one): TopicPartition => ({ topic, partition: one.partition }))
      .filter((one) => move.partitions?.includes(one.partition) ?? true),
  )
  const committed = requireAllDone('Reading the offsets', await client.admin.groupOffsets(view.groupId, partitions))
  const toOf = await targetsOf(client.admin, partitions, move.target)
  const positions = committed.map(({ topic, partition: at, committed: from }): PositionReport => {
    const to = toOf(topic, at)
    const begin = from ?? to
    return {
      topic,
      partition: at,
      from,
      to,
      skipped: to > begin ? to - begin : 0n,
      repeated: to < begin ? begin - to : 0n,
    }
  })
  return { body: { ...(await plannedAnswer(found)), positions, warnings: warningsOf(positions) } }
}

type Offsets = Pick<AdminServices['options']['clusters'][string]['admin'], 'listOffsets'>

async function targetsOf(
  admin: Offsets,
  partitions: readonly TopicPartition[],
  target: PositionTarget,
): Promise<(topic: string, partition: number) => bigint> {
  if (typeof target === 'object' && 'offset' in target) return () => target.offset
  const ends = requireAllDone('Finding the ends', await admin.listOffsets(partitions, 'LATEST'))
  const found =
    target === 'LATEST' ? ends : requireAllDone('Finding the offsets', await admin.listOffsets(partitions, target))
  return (topic, at) => {
    const isIt = (one: TopicPartition): boolean => one.topic === topic && one.partition === at
    return found.find(isIt)?.offset ?? ends.find(isIt)?.offset ?? 0n
  }
}

function warningsOf(positions: readonly PositionReport[]): readonly string[] {
  const skipped = positions.reduce((sum, one) => sum + one.skipped, 0n)
  const repeated = positions.reduce((sum, one) => sum + one.repeated, 0n)
  return [
    ...(skipped > 0n ? [`${skipped} records get no outcome but 'skipped'.`] : []),
    ...(repeated > 0n ? [`${repeated} records are delivered again.`] : []),
  ]
}
