import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/runtime.ts'
import type { SharedLog, SharedLogEntry } from './shared-log.ts'
import { checkLogWrites } from './shared-log-rules.ts'

/** Entries of one read. */
const batchSize = 500

/** Creates a log that only users of this object share. */
export function createMemorySharedLog({ runtime = systemRuntime }: { readonly runtime?: Runtime } = {}): SharedLog {
  const entries = new Map<string, SharedLogEntry>()
  const waiting = new Set<() => void>()
  let last = 0n

  const after = (position: bigint): SharedLogEntry[] =>
    [...entries.values()].filter((entry) => BigInt(entry.position) > position)

  return {
    async append(writes) {
      checkLogWrites(writes)
      for (const { key, value } of writes) {
        // Deleted and set, so that the order of the map is that of the positions.
        entries.delete(key)
        // A copy: entries have no identity in the writer's memory.
        const copy: unknown = JSON.parse(JSON.stringify(value))
        entries.set(key, { key, value: copy, position: `${++last}`, atMs: runtime.clock.now() })
      }
      for (const wake of waiting) wake()
    },

    async read(from, { waitMs, signal }) {
      signal.throwIfAborted()
      const begin = from === undefined ? 0n : BigInt(from)
      if (begin >= last && waitMs > 0) await changed(runtime, waiting, waitMs, signal)
      const found = after(begin)
      const read = found.slice(0, batchSize)
      return {
        entries: read,
        next: read.at(-1)?.position ?? `${begin}`,
        isAtEnd: read.length === found.length,
        isReset: false,
      }
    },
  }
}

/** Waits for an append. */
async function changed(
  { timers }: Runtime,
  waiting: Set<() => void>,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const woken = new AbortController()
  const wake = (): void => woken.abort()
  waiting.add(wake)
  try {
    await timers.sleep(waitMs, AbortSignal.any([signal, woken.signal]))
  } catch (error) {
    if (!woken.signal.aborted) throw error
  } finally {
    waiting.delete(wake)
  }
  signal.throwIfAborted()
}
