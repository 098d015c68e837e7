import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSimCluster } from '@waybill/sim'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DemoFailure, DemoInterrupted, needing } from '../../examples/demo/src/demo-failure.ts'
import { listenForInterrupt } from '../../examples/demo/src/interrupt.ts'
import { ShopProcess } from '../../examples/demo/src/shop-process.ts'
import type { ShopTask } from '../../examples/demo/src/shop-task.ts'
import { clearFolder, leftOf, openStage } from '../../examples/demo/src/stage.ts'

const root = join(import.meta.dirname, '../..')
const main = join(root, 'examples/demo/src/main.ts')
const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@waybill/source']

interface End {
  readonly code: number | null
  readonly said: string
  /** What is left in the folder for temporary files. */
  readonly left: readonly string[]
  /** The demo's own process, and every one that it started. */
  readonly pids: readonly number[]
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Has every process that is started with it note its id in a file: who has ended cannot be asked for its children. */
function noting(file: string): string {
  const code = `import { appendFileSync } from 'node:fs'; appendFileSync(${JSON.stringify(file)}, process.pid + ' ')`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

/** Runs the demo to its end, with a folder of its own for what it leaves; interrupts it once it has said that. */
async function runDemo(args: readonly string[], interruptAt?: string): Promise<End> {
  const folder = makeFolder()
  const pidFile = join(makeFolder(), 'pids')
  const demo = spawn(process.execPath, [...flags, main, ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder, NODE_OPTIONS: noting(pidFile) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void demo.kill('SIGKILL'))
  let said = ''
  let isInterrupted = false
  for (const stream of [demo.stdout, demo.stderr])
    stream.on('data', (text) => {
      said += String(text)
      if (isInterrupted || interruptAt === undefined || !said.includes(interruptAt)) return
      isInterrupted = true
      demo.kill('SIGINT')
    })
  const [code] = (await once(demo, 'close')) as [number | null]
  const pids = readFileSync(pidFile, 'utf8').trim().split(' ').map(Number)
  return { code, said, left: readdirSync(folder), pids }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false // There is no such process.
  }
}

describe('a demo that fails or is interrupted', () => {
  test('says in a sentence which service is not there, and leaves nothing', { timeout: 60_000 }, async () => {
    const { code, said, left } = await runDemo(['--postgres', 'postgres://127.0.0.1:1/shop'])
    expect(said).toContain('The database (postgres://127.0.0.1:1/shop')
    expect(said).toContain(
      'cannot be used. Error: connect ECONNREFUSED 127.0.0.1:1\nStart one with `npm run services up`',
    )
    expect(said).not.toMatch(/^\s+at /m)
    expect([code, left]).toEqual([1, []])
  })

  test('closes its shop on Ctrl-C and leaves nothing', { timeout: 60_000 }, async () => {
    const { code, said, left, pids } = await runDemo([], '2  Orders are placed')
    expect(said).toContain('Ctrl-C again ends at once.')
    expect(said).toContain('The demo has ended.')
    expect(said).not.toMatch(/^\s+at /m) // A shop that is left alone breaks when its folder goes.
    expect([code, left]).toEqual([130, []])
    expect(new Set(pids).size).toBe(2)
    expect(pids.filter(isRunning)).toEqual([])
  })
})

test('a command to a shop that has died rejects with a DemoFailure', { timeout: 60_000 }, async () => {
  const folder = makeFolder()
  const cluster = createSimCluster()
  cluster.createTopic('orders')
  const task: ShopTask = {
    store: { kind: 'SQLITE', file: join(folder, 'shop.db') },
    brokers: null,
    clusterNodes: cluster.brokers,
    topic: 'orders',
    orders: 1,
    ordersPerSecond: 20,
    logFile: join(folder, 'shop.log'),
  }
  const watch = { over: new AbortController().signal, onFailed: () => {}, onGone: () => {} }
  await using shop = await ShopProcess.start(task, cluster, watch)
  await shop.kill()
  await expect(shop.stop()).rejects.toThrow(DemoFailure)
})

test('a second Ctrl-C ends the demo at once, and names what may be left', () => {
  const said: string[] = []
  const codes: number[] = []
  const process = Object.assign(new EventEmitter(), { exit: (code: number) => void codes.push(code) })
  using interrupt = listenForInterrupt(
    process,
    (text) => void said.push(text),
    () => '/tmp/here, topics demo*',
  )
  process.emit('SIGINT')
  expect([interrupt.signal.aborted, codes, said.length]).toEqual([true, [], 1])
  process.emit('SIGINT')
  expect(codes).toEqual([130])
  expect(said[1]).toBe('Ended at once. This may be left: /tmp/here, topics demo*.')
  interrupt[Symbol.dispose]()
  expect(process.eventNames()).toEqual([])
})

test('what a run may leave is named by where it runs', async () => {
  const stage = await openStage({ postgres: 'postgres://there' })
  onTestFinished(() => rmSync(stage.folder, { recursive: true, force: true }))
  expect(leftOf(stage, { brokers: null })).toMatch(/waybill-demo-\w+, schema demo_\w+$/)
  expect(leftOf(stage, { brokers: ['one:1'] })).toMatch(/waybill-demo-\w+, topics demo-\w+\.orders\*, schema demo_\w+$/)
})

test('the folder of a run goes, unless a log in it says what went wrong', async () => {
  const stage = await openStage({ postgres: null })
  writeFileSync(stage.logFile, 'a stack')
  expect(await clearFolder(stage, true)).toBe(stage.logFile)
  expect(existsSync(stage.logFile)).toBe(true)
  expect(await clearFolder(stage, false)).toBeUndefined()
  expect(existsSync(stage.folder)).toBe(false)
})

test('a service that is needed and not there is told of with what to do; an interruption stays one', async () => {
  const failing = needing('Kafka', 'Start one.', () => Promise.reject(new Error('refused')))
  await expect(failing).rejects.toThrow(new DemoFailure('Kafka cannot be used. Error: refused\nStart one.'))
  const interrupted = needing('Kafka', 'Start one.', () => Promise.reject(new DemoInterrupted('no')))
  await expect(interrupted).rejects.toThrow(DemoInterrupted)
})
