import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const variable = 'NODE_COMPILE_CACHE'

/**
 * Shares compiled code between the processes that tests start. Some hundred of them load the same sources, and loading is
 * most of their work: the cache saves a third of it. Each run has its own folder, because programs that are written for one
 * test would stay in a common folder forever.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env[variable] !== undefined) return async () => {}
  const folder = await mkdtemp(join(tmpdir(), 'waybill-compiled-'))
  process.env[variable] = folder
  return () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
