/** `npm run bench -- NAME [--json] [--rounds N] [--only TEXT]`: ratios to the raw client or the raw SQL, of the same run. */

import { parseArgs } from 'node:util'
import type { BenchOptions } from './src/bench-options.ts'
import { runConnectorBench } from './src/connector/run-connector.ts'
import { runKafkaClientBench } from './src/kafka-client/run-kafka-client.ts'
import { runOutboxBench } from './src/outbox/run-outbox.ts'
import type { BenchLine } from './src/statistics.ts'

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<void>>> = {
  'kafka-client': runKafkaClientBench,
  connector: runConnectorBench,
  outbox: runOutboxBench,
}

function refuse(why: string): never {
  const usage = 'Usage: npm run bench -- NAME [--json] [--rounds N] [--only TEXT]'
  process.stderr.write(`${why}\n${usage}\nNAME is one of: ${Object.keys(benches).join(', ')}\n`)
  process.exit(2)
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '5' },
        only: { type: 'string', default: '' },
      },
    })
  } catch (error) {
    return refuse((error as Error).message)
  }
}

const { values, positionals } = readArguments()
const [name = ''] = positionals
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
if (bench === undefined) refuse(`There is no benchmark "${name}".`)
const rounds = Number(values.rounds)
if (!Number.isSafeInteger(rounds) || rounds < 1) refuse(`--rounds takes a number from 1 on, got "${values.rounds}".`)

function show(line: BenchLine): string {
  if (values.json) return JSON.stringify(line)
  const { value, unit, reference, referenceValue, ratio, low, high, runs } = line
  const share = `${ratio} × ${reference}`.padEnd(22)
  return `${line.case.padEnd(46)} ${share} ${value} ${unit} beside ${referenceValue} (${low} to ${high}, ${runs} rounds)`
}

await bench({
  rounds,
  only: values.only,
  progress: (text) => process.stderr.write(`${text}\n`),
  report: (line) => process.stdout.write(`${show(line)}\n`),
})
