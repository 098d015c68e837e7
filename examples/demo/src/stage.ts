/** The resources that a run of the demo creates outside of its process, and removes at its end. */

import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeThrown } from '@waybill/core'
import { adminResultsOf, type KafkaClient, type TopicResult } from '@waybill/kafka'
import type { DemoOptions } from './options.ts'
import { withStore } from './store/open-store.ts'
import type { StoreAddress } from './store/shop-store.ts'

/** Names and paths of one run. */
export interface Stage {
  readonly folder: string
  readonly logFile: string
  readonly topic: string
  readonly address: StoreAddress
}

/** Long enough for services that answer, short for those that do not. */
const tidyMs = 5_000

/** Creates the folder, and only names the other resources. */
export async function openStage({ postgres }: Pick<DemoOptions, 'postgres'>): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-demo-'))
  const run = `demo-${Date.now().toString(36)}`
  return {
    folder,
    logFile: join(folder, 'shop.log'),
    topic: `${run}.orders`,
    address:
      postgres === null
        ? { kind: 'SQLITE', file: join(folder, 'shop.db') }
        : { kind: 'POSTGRES', url: postgres, schema: run.replace('-', '_') },
  }
}

/** Lists the resources that an interrupted run may leave behind. */
export function leftOf({ folder, topic, address }: Stage, { brokers }: Pick<DemoOptions, 'brokers'>): string {
  const topics = brokers === null ? [] : [`topics ${topic}*`]
  const schema = address.kind === 'SQLITE' ? [] : [`schema ${address.schema}`]
  return [folder, ...topics, ...schema].join(', ')
}

/**
 * Removes the resources on real services; simulated ones end with the process. Never rejects, since the run is over:
 * returns the reasons why something could not be removed.
 */
export async function clearServices({ topic, address }: Stage, kafka: KafkaClient): Promise<readonly string[]> {
  const derived = [...[1, 2, 3].map((tier) => `${topic}.retry-${tier}`), `${topic}.DLT`]
  // A topic that the run did not reach does not exist.
  const topics = adminResultsOf(kafka.admin.deleteTopics([topic, ...derived], { deadlineMs: tidyMs })).then(assertGone)
  const results = await Promise.allSettled([topics, dropSchema(address)])
  return results.flatMap((result) => (result.status === 'rejected' ? [describeThrown(result.reason)] : []))
}

function assertGone(outcomes: readonly TopicResult[]): void {
  for (const one of outcomes)
    if (one.outcome === 'FAILED' && one.error.reason !== 'UNKNOWN_TOPIC_OR_PARTITION') throw one.error
}

async function dropSchema(address: StoreAddress): Promise<void> {
  if (address.kind === 'SQLITE') return
  const text = `DROP SCHEMA IF EXISTS ${address.schema} CASCADE`
  await withStore(address, ({ database }) => database.connection((connection) => connection.query(text, [])))
}

/** Removes the folder, or with `keepsLog` returns the path of the log if there is one. */
export async function clearFolder({ folder, logFile }: Stage, keepsLog: boolean): Promise<string | undefined> {
  if (keepsLog && existsSync(logFile)) return logFile
  await rm(folder, { recursive: true, force: true })
  return undefined
}
