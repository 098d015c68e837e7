/** Fills docs/explanation/performance.md: `node bench/fill-performance-page.ts RESULTS…`, files of --json lines, oldest first. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cases as connectorCases } from './src/connector/cases.ts'
import { cases as clientCases } from './src/kafka-client/cases.ts'
import { rivalCases } from './src/outbox/rival-cases.ts'
import { fillPage, type PerformanceTable, type Result } from './src/page/performance-page.ts'

const passes = { rate: 'records/s, warm', cold: 'records/s, cold', cpu: 'CPU µs/record, warm' }
const tables: readonly PerformanceTable[] = [
  {
    bench: 'connector',
    cases: connectorCases
      .filter(({ rivals }) => rivals.some((rival) => 'java' in rival))
      .map((one) => ({ case: one.name, references: one.rivals.map(({ name }) => name) })),
    ...passes,
  },
  {
    bench: 'kafka-client',
    cases: clientCases
      .filter(({ work }) => work !== 'latency')
      .map((one) => ({ case: one.name, references: one.rivals })),
    ...passes,
  },
  {
    bench: 'outbox',
    cases: rivalCases.map((one) => ({ case: one.name, references: one.rivals })),
    rate: 'events/s',
    cpu: 'Node CPU µs/event',
  },
]

const page = join(import.meta.dirname, '..', 'docs', 'explanation', 'performance.md')
const lines = process.argv.slice(2).flatMap((file) => readFileSync(file, 'utf8').split('\n'))
const results = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Result)
writeFileSync(page, fillPage(readFileSync(page, 'utf8'), tables, results))
