import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** The concerns of the event bus specification, and where each of them is here. */
const places = [
  ['model', 'packages/core/src/event'],
  ['config', 'packages/kafka/src/connector/config'],
  ['handler', 'packages/kafka/src/connector/handler'],
  ['container', 'packages/kafka/src/connector/container'],
  ['listener', 'packages/kafka/src/connector/delivery'],
  ['resilience: retries', 'packages/core/src/retry'],
  ['resilience: the breaker', 'packages/core/src/breaker'],
  ['offset', 'packages/kafka/src/connector/ledger'],
  ['dead letters: what is written', 'packages/kafka/src/connector/record'],
  ['dead letters: replay', 'packages/kafka/src/connector/replay'],
  ['observability', 'packages/core/src/telemetry'],
  ['admin', 'packages/kafka/src/connector/admin'],
  ['exception', 'packages/core/src/failure'],
] as const

test.each(places)('S0-206 the concern %s has a folder of its own: %s', async (_, folder) => {
  const files = await readdir(join(root, folder))
  expect(files.filter((file) => file.endsWith('.ts'))).not.toEqual([])
})
