import { createUlidGenerator, type Database, type Runtime } from '@waybill/core'
import { hasMethods, instance, resolveOptions } from '@waybill/core/option'
import type { OutboxStore } from '../api/outbox-store.ts'
import type { WriterHook } from '../api/writer-hook.ts'
import { createOutboxTelemetry } from '../loops/outbox-telemetry.ts'
import { poolRules } from '../options/outbox-rules.ts'
import { createAmbientWriter, createRowWriter, type OutboxWriter } from '../write/writer.ts'

/** Options of {@link createOutboxWriter}. */
export interface OutboxWriterOptions {
  /** The database whose transactions events are written in. */
  readonly database: Pick<Database<never>, 'ambient'>
  readonly store: OutboxStore
  /** Hooks around every write, such as the `writerHook` of a dispatcher. @defaultValue none */
  readonly hook?: WriterHook | undefined
  /** @defaultValue `outbox` */
  readonly metricsPrefix?: string | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

const rules = {
  database: instance<Pick<Database<never>, 'ambient'>>(
    'a database',
    (value) => hasMethods(value, 'connection') || (typeof value === 'object' && value !== null && 'ambient' in value),
  ),
  store: poolRules.store,
  hook: poolRules.hook,
  metricsPrefix: poolRules.metricsPrefix,
  runtime: poolRules.runtime,
}

/** Creates a writer of envelopes in the transaction of the current asynchronous context. */
export function createOutboxWriter(options: OutboxWriterOptions): OutboxWriter {
  const { database, store, hook, metricsPrefix, runtime } = resolveOptions('createOutboxWriter', rules, options)
  const telemetry = createOutboxTelemetry(metricsPrefix, runtime)
  const writeRows = createRowWriter({ store, hook, telemetry, name: metricsPrefix, runtime })
  return createAmbientWriter(database.ambient, writeRows, {
    clock: runtime.clock,
    nextId: createUlidGenerator(runtime),
  })
}
