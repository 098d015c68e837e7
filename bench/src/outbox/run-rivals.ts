/** The outbox beside outboxes and job queues on Node, in interleaved rounds: DELETE, four sessions, calls counted outside. */

import pg from 'pg'
import type { BenchOptions } from '../bench-options.ts'
import { compare } from '../statistics.ts'
import { runParticipant } from './participant-process.ts'
import { postgresUrl, urlOf } from './postgres-tables.ts'
import { type RivalCase, rivalCases } from './rival-cases.ts'
import { type CallResult, problemOfCalls } from './rivals/call-counter.ts'
import type { RivalName, RivalTask } from './rivals/rival-participant.ts'

/** Runs every case whose name contains `only`. */
export async function runRivals(options: BenchOptions): Promise<void> {
  const admin = new pg.Pool({ connectionString: postgresUrl, max: 1 })
  try {
    for (const one of rivalCases.filter(({ name }) => name.includes(options.only))) await runCase(admin, one, options)
  } finally {
    await admin.end()
  }
}

async function runCase(admin: pg.Pool, one: RivalCase, options: BenchOptions): Promise<void> {
  const { rounds, progress, report, records = Number.POSITIVE_INFINITY } = options
  const warm = Math.min(one.warm, Math.ceil(records / 2))
  const count = Math.min(one.count, Math.ceil(records / 2))
  const contestants: RivalName[] = ['waybill', ...one.rivals]
  const results = new Map<RivalName, CallResult[]>(contestants.map((name) => [name, []]))
  for (let round = 1; round <= rounds; round++)
    for (const rival of round % 2 === 1 ? contestants : contestants.toReversed()) {
      const earlier = results.get(rival)
      if (earlier === undefined) continue
      progress(`${one.name}: round ${round} of ${rounds}, ${rival}`)
      const outcome = await runRival(admin, { rival, warm, count })
      if (typeof outcome !== 'string') earlier.push(outcome)
      else {
        results.delete(rival)
        report({ bench: 'outbox', case: one.name, note: `${rival} is not compared: ${outcome}` })
      }
    }
  const ours = results.get('waybill')
  if (ours === undefined) return
  for (const [reference, theirs] of results) {
    if (reference === 'waybill') continue
    const names = { bench: 'outbox', case: one.name, reference }
    report(compare({ ...names, unit: 'events/s' }, ours.map(rate), theirs.map(rate)))
    report(compare({ ...names, unit: 'Node CPU µs/event' }, ours.map(cpu), theirs.map(cpu), true))
  }
}

function rate({ perSecond }: CallResult): number {
  return perSecond
}

function cpu({ nodeMicros }: CallResult): number {
  return nodeMicros
}

/** Runs one contestant in a database of its own. Returns its result, or the reason why it is not compared. */
async function runRival(admin: pg.Pool, task: Omit<RivalTask, 'url'>): Promise<CallResult | string> {
  const database = `bench_rival_${process.pid}`
  await admin.query(`CREATE DATABASE ${database}`)
  try {
    const url = urlOf(postgresUrl, database)
    const result = await runParticipant<CallResult>('rivals/rival-participant.ts', { ...task, url })
    return problemOfCalls(result, task.warm + task.count) ?? result
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    return `failed: ${
      stderr
        .trim()
        .split('\n')
        .findLast((line) => line.includes('Error')) ?? message
    }`
  } finally {
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)
  }
}
