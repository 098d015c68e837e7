/** `npm run bench -- NAME`: ratios to a reference measured in the same run. `--help` lists the options. */

import {
  type BenchCommand,
  type BenchOptions,
  BenchUsageError,
  benchUsage,
  readBenchCommand,
} from './src/bench-options.ts'
import { runConnectorBench } from './src/connector/run-connector.ts'
import { runConsoleBench } from './src/console/run-console.ts'
import { runDeadLettersBench } from './src/dead-letters/run-dead-letters.ts'
import { runKafkaClientBench } from './src/kafka-client/run-kafka-client.ts'
import { runMemoryBench } from './src/memory/run-memory.ts'
import { runMovesBench } from './src/moves/run-moves.ts'
import { runOrderServiceBench } from './src/order-service/run-order-service.ts'
import { runOutboxBench } from './src/outbox/run-outbox.ts'
import { runProjectionBench } from './src/projection/run-projection.ts'
import { runStartupBench } from './src/startup/run-startup.ts'
import type { BenchLine, BenchNote } from './src/statistics.ts'
import { runTelemetryBench } from './src/telemetry/run-telemetry.ts'

const benches: ReadonlyMap<string, (options: BenchOptions) => Promise<void>> = new Map([
  ['kafka-client', runKafkaClientBench],
  ['connector', runConnectorBench],
  ['outbox', runOutboxBench],
  ['console', runConsoleBench],
  ['moves', runMovesBench],
  ['dead-letters', runDeadLettersBench],
  ['memory', runMemoryBench],
  ['order-service', runOrderServiceBench],
  ['projection', runProjectionBench],
  ['startup', runStartupBench],
  ['telemetry', runTelemetryBench],
])
const names = [...benches.keys()]

try {
  const command = readBenchCommand(process.argv.slice(2), names)
  if (command === undefined) process.stdout.write(benchUsage(names))
  else await run(command)
} catch (error) {
  if (!(error instanceof BenchUsageError)) throw error
  process.stderr.write(`${error.message}\n\n${benchUsage(names)}`)
  process.exitCode = 2
}

async function run({ name, rounds, only, records, isJson }: BenchCommand): Promise<void> {
  await benches.get(name)?.({
    rounds,
    only,
    records,
    progress: (text) => process.stderr.write(`${text}\n`),
    report: (line) => process.stdout.write(`${isJson ? JSON.stringify(line) : lineText(line)}\n`),
  })
}

function lineText(line: BenchLine | BenchNote): string {
  if ('note' in line) return `${line.case.padEnd(46)} ${line.note}`
  const { value, unit, reference, referenceValue, ratio, low, high, runs } = line
  const share = `${ratio} × ${reference}`.padEnd(22)
  return `${line.case.padEnd(46)} ${share} ${value} ${unit} beside ${referenceValue} (${low} to ${high}, ${runs} rounds)`
}
