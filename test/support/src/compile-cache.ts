import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const variable = 'NODE_COMPILE_CACHE'

/**
 * Tests start some hundred processes that load the same sources, and loading is most of what they do. What one of them has
 * compiled the next one finds: that takes a third less. A folder of its own for each run, since programs that are written
 * for one test would stay in it for ever.
 */
export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env[variable] !== undefined) return async () => {}
  const folder = await mkdtemp(join(tmpdir(), 'waybill-compiled-'))
  process.env[variable] = folder
  return () => rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
