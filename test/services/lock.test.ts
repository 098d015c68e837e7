import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withLock } from '@waybill/services'
import { afterEach, beforeEach, expect, test } from 'vitest'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-lock-'))
})
afterEach(() => rm(folder, { recursive: true }))

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('work under one lock never overlaps', async () => {
  const steps: string[] = []
  const work = (name: string) => async (): Promise<void> => {
    steps.push(`${name} begins`)
    for (let turns = 0; turns < 5; turns++) await turn()
    steps.push(`${name} ends`)
  }
  let waits = 0
  await Promise.all(['a', 'b', 'c'].map((name) => withLock(join(folder, 'lock'), work(name), () => void waits++)))
  expect(steps).toHaveLength(6)
  for (let at = 0; at < 6; at += 2) expect(steps[at]?.[0]).toBe(steps[at + 1]?.[0])
  expect(waits).toBe(2)
})

test('a lock is free again after work that failed', async () => {
  const file = join(folder, 'lock')
  await expect(withLock(file, () => Promise.reject(new Error('broke')))).rejects.toThrow('broke')
  expect(await withLock(file, async () => 'mine')).toBe('mine')
})

test('a lock is free again when its holder is killed', async () => {
  const file = join(folder, 'lock')
  const holder = `
    const database = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)})
    database.exec('begin exclusive')
    console.log('held')
    setInterval(() => {}, 1e6)`
  const child = spawn(process.execPath, ['-e', holder], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  let hasWaited = false
  const taken = withLock(
    file,
    async () => hasWaited,
    () => {
      hasWaited = true
      child.kill('SIGKILL')
    },
  )
  expect(await taken).toBe(true)
})
