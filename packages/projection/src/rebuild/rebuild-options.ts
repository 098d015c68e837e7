import { type AdministrationOptions, type Runtime } from '@waybill/core'
import { administrationRule, type ProjectionStore, runtimeRule } from '@waybill/core/internal'
import {
  boolean,
  func,
  hasMethods,
  instance,
  integer,
  oneOf,
  optional,
  orFalse,
  type Rule,
  resolveOptions,
} from '@waybill/core/option'
import type { KafkaClient } from '@waybill/kafka'
import type { AnyProjection } from '../definition/projection.ts'
import type { ProjectionOperation } from '../definition/projection-operation.ts'
import { previousRule } from '../projector/previous-rule.ts'
import type { EventHistory, RebuildSource } from './rebuild-source.ts'

/** Options of {@link createRebuild}. */
export interface RebuildOptions {
  /** The store of the projector. */
  readonly store: ProjectionStore
  /** The cluster of the topics. They are read from their first offset, outside of the group of the live binding. */
  readonly kafka: Pick<KafkaClient, 'admin' | 'reader'>
  /**
   * Events from before the topics, such as kept outbox rows. Required if retention has removed the first events.
   *
   * @defaultValue the topics have every event
   */
  readonly history?: EventHistory | undefined
  /** Partitions that this process builds from at a time; more processes may run the same rebuild. @defaultValue 2 */
  readonly workers?: number | undefined
  /** The limit of this process. @defaultValue none */
  readonly eventsPerSecond?: number | undefined
  /**
   * Rows of the live table to compare before READY, in the order of their keys; 0 compares none.
   *
   * @defaultValue ALL
   */
  readonly verify?: number | 'ALL' | undefined
  /** Returns whether a difference between a live and a built row is intended. @defaultValue none is */
  readonly expectDifference?: ((key: string, live: unknown, built: unknown) => boolean) | undefined
  /**
   * Other revisions of the projection. The one that is live must be among them: its rows are compared with the new ones.
   *
   * @defaultValue none: the live table has this revision, or there is none
   */
  readonly previous?: readonly AnyProjection[] | undefined
  /** Keys that may be quarantined in the new table although their live rows have higher versions. @defaultValue 0 */
  readonly maxQuarantined?: number | undefined
  /** WHEN_READY switches at once; BY_HAND waits for `switchNow`. @defaultValue BY_HAND */
  readonly switch?: 'WHEN_READY' | 'BY_HAND' | undefined
  /** Builds another table although the live one has this revision: after a repair of its events. @defaultValue false */
  readonly again?: boolean | undefined
  /**
   * Permissions and audit log of operators.
   * @defaultValue only the program itself, `applicationOperator()`; lines on standard error, whatever the log level
   */
  readonly administration?: AdministrationOptions<ProjectionOperation> | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** {@link RebuildOptions} with defaults, and the source as a port. */
export interface ResolvedRebuildOptions {
  readonly store: ProjectionStore
  readonly kafka: RebuildOptions['kafka']
  readonly history: EventHistory | undefined
  readonly workers: number
  readonly eventsPerSecond: number | false
  readonly verify: number | 'ALL'
  readonly expectDifference: RebuildOptions['expectDifference']
  readonly maxQuarantined: number
  readonly switch: 'WHEN_READY' | 'BY_HAND'
  readonly again: boolean
  readonly previous: readonly AnyProjection[]
  readonly administration: AdministrationOptions<ProjectionOperation>
  readonly runtime: Runtime
}

/** The parts of a rebuild that tests replace. */
export interface RebuildParts {
  readonly source: RebuildSource
  readonly owner: string
}

const rules: { readonly [K in keyof ResolvedRebuildOptions]: Rule<ResolvedRebuildOptions[K]> } = {
  store: instance<ProjectionStore>('a store of projections', (value) => hasMethods(value, 'transaction', 'claim')),
  kafka: instance<RebuildOptions['kafka']>('a Kafka client', (value) => hasMethods(value, 'reader')),
  history: optional(func<EventHistory>()),
  workers: integer({ default: 2, min: 1, max: 64, because: 'one of them computes while the other waits' }),
  eventsPerSecond: orFalse(integer({ min: 1 }), { default: false, because: 'a rebuild should be short' }),
  verify: instance<number | 'ALL'>(
    'a number of rows, or ALL',
    (value) => value === 'ALL' || (Number.isSafeInteger(value) && (value as number) >= 0),
    { default: 'ALL', because: 'a million rows take about ten seconds' },
  ),
  expectDifference: optional(func<(key: string, live: unknown, built: unknown) => boolean>()),
  maxQuarantined: integer({ default: 0, min: 0, because: 'a missing event is not expected' }),
  switch: oneOf(['WHEN_READY', 'BY_HAND'], { default: 'BY_HAND', because: 'readers see the new table at once' }),
  again: boolean({ default: false, because: 'a program that is started again should not rebuild again' }),
  previous: previousRule,
  administration: administrationRule,
  runtime: runtimeRule,
}

/** @throws OptionsError with all violations */
export function resolveRebuildOptions(options: RebuildOptions): ResolvedRebuildOptions {
  return resolveOptions('createRebuild', rules, options)
}
