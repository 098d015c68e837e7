/**
 * Runs a connector with one kind of telemetry over filled topics, in a process that lives through all rounds: the parent sends
 * a topic, and gets the CPU time between the first and the last record.
 */

import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { type Binding, createConnector } from '@waybill/connector'
import { createMetricsStore, type Runtime, runtimeWith } from '@waybill/core'
import { createKafkaClient } from '@waybill/kafka'
import { prometheusText } from '@waybill/telemetry'
import { openTelemetryTracer } from '@waybill/telemetry/opentelemetry'
import { bootstrap } from '../kafka-client/contestant.ts'

/** The kinds of telemetry. SCRAPED writes a page for Prometheus each second. */
export type TelemetryKind = 'NONE' | 'METRICS' | 'SCRAPED' | 'SAMPLED_SPANS' | 'ALL_SPANS'

/** The handlers. READS is asynchronous, and reads key, value and headers. */
export type HandlerKind = 'NOTHING' | 'READS'

/** The task of a process, its only argument. */
export interface MeterTask {
  readonly telemetry: TelemetryKind
  readonly handler: HandlerKind
  readonly records: number
}

/** A pass over a topic. */
export interface MeterPass {
  readonly topic: string
}

/** Its cost. */
export interface MeterResult {
  readonly cpuMicros: number
}

const { telemetry, handler, records } = JSON.parse(process.argv[2] ?? '') as MeterTask

function runtimeFor(kind: TelemetryKind): Runtime {
  if (kind === 'NONE') return runtimeWith({})
  const metrics = createMetricsStore()
  if (kind === 'SCRAPED') setInterval(() => prometheusText(metrics), 1_000).unref()
  if (kind === 'METRICS' || kind === 'SCRAPED') return runtimeWith({ metrics })
  // Spans are recorded, batched and dropped: the cost of an exporter is that of the exporter.
  const exporter = {
    export: (_: unknown, done: (result: { readonly code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
    forceFlush: async () => {},
  }
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
  const spans = kind === 'ALL_SPANS' ? 'ALL' : 'SAMPLED'
  return runtimeWith({ metrics, tracer: openTelemetryTracer({ tracer: provider.getTracer('bench'), spans }) })
}

const runtime = runtimeFor(telemetry)
let bytes = 0

async function pass(topic: string, number: number): Promise<MeterResult> {
  const { promise, resolve } = Promise.withResolvers<MeterResult>()
  let handled = 0
  let started: NodeJS.CpuUsage | undefined
  const count = (): void => {
    if (++handled !== records) return
    const { user, system } = process.cpuUsage(started)
    resolve({ cpuMicros: user + system })
  }
  const handlers: Readonly<Record<HandlerKind, Binding['handler']>> = {
    NOTHING: () => {
      started ??= process.cpuUsage()
      count()
    },
    READS: async ({ key, value }, { headers }) => {
      started ??= process.cpuUsage()
      bytes += (key?.length ?? 0) + (value?.length ?? 0)
      for (const [name] of headers) bytes += name.length
      await Promise.resolve()
      count()
    },
  }
  const client = createKafkaClient({ brokers: [bootstrap], runtime })
  const groupId = `bench-telemetry-${process.pid}-${number}-${Date.now()}`
  const bound = { topic, groupId, handler: handlers[handler], maxPollRecords: 500, ackMode: 'MANUAL' } as const
  const connector = createConnector({ clusters: { default: client }, bindings: { bench: bound }, runtime })
  await connector.start()
  const result = await promise
  await connector.stop()
  await client.close()
  return result
}

let passes = 0
process.on('message', ({ topic }: MeterPass) => {
  pass(topic, ++passes).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    },
  )
})
