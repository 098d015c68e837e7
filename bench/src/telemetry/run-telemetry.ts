/** What telemetry adds to the CPU time of a record: processes that live through all rounds take turns on one topic. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import type { BenchOptions } from '../bench-options.ts'
import { bootstrap } from '../kafka-client/contestant.ts'
import { headers, keys, payloads } from '../kafka-client/payloads.ts'
import { compare } from '../statistics.ts'
import type { HandlerKind, MeterPass, MeterResult, MeterTask, TelemetryKind } from './meter.ts'

const records = 200_000
const partitions = 8
/** Every hundredth record belongs to a sampled trace. */
const sampledEvery = 100
/** A round is short: the median of more of them is steadier. */
const timesRounds = 3

const kinds: readonly (readonly [TelemetryKind, string])[] = [
  ['METRICS', 'metrics'],
  ['SCRAPED', 'metrics, scraped each second'],
  ['SAMPLED_SPANS', 'metrics and spans, 1 % sampled'],
  ['ALL_SPANS', 'metrics and spans of all records'],
]
const handlers: readonly (readonly [HandlerKind, string])[] = [
  ['NOTHING', 'no-op handler'],
  ['READS', 'async handler that reads all fields'],
]

/** One process with one kind of telemetry. */
class Meter implements Disposable {
  readonly #child: ChildProcess
  /** CPU µs of a record, by round. */
  readonly costs: number[] = []

  constructor(task: MeterTask) {
    this.#child = fork(join(import.meta.dirname, 'meter.ts'), [JSON.stringify(task)], {
      execArgv: ['--conditions=@waybill/source', '--no-warnings'],
    })
  }

  /** Runs a pass; the first one only warms up. */
  async run(pass: MeterPass, isWarm: boolean): Promise<void> {
    const exited = once(this.#child, 'exit').then(() => {
      throw new Error('A process of the benchmark ended.')
    })
    this.#child.send(pass)
    const [{ cpuMicros }] = (await Promise.race([once(this.#child, 'message'), exited])) as [MeterResult]
    if (isWarm) this.costs.push(cpuMicros / records)
  }

  [Symbol.dispose](): void {
    this.#child.kill()
  }
}

/** Runs every case whose name contains `only`. */
export async function runTelemetryBench({ rounds, only, progress, report }: BenchOptions): Promise<void> {
  await using client = createKafkaClient({ brokers: [bootstrap] })
  const topic = `bench-telemetry-${Date.now()}`
  await fill(client, topic)
  try {
    for (const [handler, handlerName] of handlers) {
      const chosen = kinds.filter(([, name]) => `${handlerName}, ${name}`.includes(only))
      if (chosen.length === 0) continue
      using stack = new DisposableStack()
      const meterOf = (telemetry: TelemetryKind): Meter => stack.use(new Meter({ telemetry, handler, records }))
      const none = meterOf('NONE')
      const meters = chosen.map(([kind, name]) => ({ name, meter: meterOf(kind) }))
      for (let round = 0; round <= rounds * timesRounds; round++) {
        progress(`${handlerName}: round ${round} of ${rounds * timesRounds}${round === 0 ? ', not counted' : ''}`)
        // In turns forward and backward: no contestant is always the first after another load.
        const turns = [none, ...meters.map(({ meter }) => meter)]
        for (const meter of round % 2 === 0 ? turns : turns.toReversed()) await meter.run({ topic }, round > 0)
      }
      for (const { name, meter } of meters)
        report(
          compare(
            { bench: 'telemetry', case: `${handlerName}, ${name}`, unit: 'CPU µs/record', reference: 'without' },
            meter.costs,
            none.costs,
            true,
          ),
        )
    }
  } finally {
    await client.admin.deleteTopics([topic])
  }
}

async function fill(client: KafkaClient, topic: string): Promise<void> {
  await client.admin.createTopics([{ topic, partitions, replication: 1 }])
  await using producer = client.producer('EVENT', { compression: 'NONE' })
  const values = payloads(100)
  for (let from = 0; from < records; from += 10_000) {
    const sends: Promise<unknown>[] = []
    for (let index = from; index < from + 10_000; index++) {
      const key = keys[(index * 7_919) % keys.length] as Buffer
      const own = headers.map(([name, value]) => [name, name === 'traceparent' ? traceparentOf(index) : value] as const)
      sends.push(producer.send({ topic, key, value: values[index & 1_023] as Buffer, headers: own }))
    }
    await Promise.all(sends)
  }
}

function traceparentOf(index: number): Buffer {
  const id = (index + 1).toString(16)
  const flags = index % sampledEvery === 0 ? '01' : '00'
  return Buffer.from(`00-${id.padStart(32, '0')}-${id.padStart(16, '0')}-${flags}`)
}
