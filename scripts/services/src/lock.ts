import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemTimers } from '@waybill/core/internal'

/**
 * Runs the work while no other process runs work under the same file. The lock is SQLite's own, so the system releases
 * it when its holder dies: stale locks cannot exist.
 */
export async function withLock<T>(file: string, work: () => Promise<T>, onWait: () => void = () => {}): Promise<T> {
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file)
  try {
    for (let waited = false; !tryLock(database); waited = true) {
      if (!waited) onWait()
      await systemTimers.sleep(100)
    }
    return await work()
  } finally {
    database.close()
  }
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec('begin exclusive')
    return true
  } catch (error) {
    if (/database is locked/.test(String(error))) return false
    throw error
  }
}
