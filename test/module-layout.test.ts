import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** The concerns of the event bus specification, and where each of them is here. */
const places = [
  ['model', 'packages/core/src/event'],
  ['config', 'packages/connector/src/config'],
  ['handler', 'packages/connector/src/handlers'],
  ['container', 'packages/connector/src/group'],
  ['listener', 'packages/connector/src/delivery'],
  ['resilience: retries', 'packages/core/src/retry'],
  ['resilience: the breaker', 'packages/core/src/breaker'],
  ['offset', 'packages/connector/src/ledger'],
  ['dead letters: what is written', 'packages/connector/src/records'],
  ['dead letters: replay', 'packages/connector/src/replay'],
  ['observability', 'packages/core/src/telemetry'],
  ['admin', 'packages/connector/src/operations'],
  ['exception', 'packages/core/src/failure'],
] as const

test.each(places)('S0-206 the concern %s has a folder of its own: %s', async (_, folder) => {
  const files = await readdir(join(root, folder))
  expect(files.filter((file) => file.endsWith('.ts'))).not.toEqual([])
})
