/** Runs several instances of several regions as processes of this machine, on the same services. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** Options of {@link runFleet}. */
export interface FleetOptions {
  /** `2x3`: two regions with three instances each. */
  readonly size: string
  /** The port of the first instance; the others follow. */
  readonly firstPort: number
  readonly say: (text: string) => void
}

interface Member {
  readonly name: string
  readonly region: string
  readonly url: string
  readonly child: ChildProcess
  mode: string
}

const regions = ['eu-1', 'us-1', 'ap-1', 'sa-1']

/** Resolves when all instances have ended. */
export async function runFleet({ size, firstPort, say }: FleetOptions): Promise<void> {
  const [, regionCount = 0, instanceCount = 0] = (/^([1-4])x([1-8])$/.exec(size) ?? []).map(Number)
  if (regionCount === 0)
    throw new Error(`--fleet takes regions x instances from 1x1 to 4x8, such as 2x2, got "${size}".`)
  const members: Member[] = []
  // One region after another: the first is the active one.
  for (const region of regions.slice(0, regionCount))
    members.push(
      ...(await Promise.all(
        Array.from({ length: instanceCount }, (_, instanceId) => {
          const port = firstPort + members.length + instanceId
          return startMember({ region, instanceId, instanceCount, port, isFailing: regionCount > 1 }, say)
        }),
      )),
    )
  const ends = members.map(({ child }) => (isRunning(child) ? once(child, 'exit') : Promise.resolve()))
  const stop = (): void => {
    for (const { child } of members) child.kill('SIGTERM')
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const watched = new AbortController()
  const watching = watch(members, watched.signal, say)
  say('Kill the instances of the active region to see the other one take over; Ctrl-C stops all.')
  await Promise.all(ends)
  watched.abort()
  await watching
}

interface MemberOptions {
  readonly region: string
  readonly instanceId: number
  readonly instanceCount: number
  readonly port: number
  readonly isFailing: boolean
}

async function startMember(options: MemberOptions, say: (text: string) => void): Promise<Member> {
  const { region, instanceId, instanceCount, port, isFailing } = options
  const name = `${region}/${instanceId}`
  const environment = {
    ORDERS_REGION: region,
    ORDERS_INSTANCE_ID: String(instanceId),
    ORDERS_INSTANCE_COUNT: String(instanceCount),
    ORDERS_FAILOVER: isFailing ? 'ON' : 'OFF',
  }
  const main = join(import.meta.dirname, 'main.ts')
  const child = spawn(process.execPath, [...process.execArgv, main, 'serve', '--real', '--port', String(port)], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.once('exit', (code, signal) => say(`${name} ended (${signal ?? code})`))
  const lines = createInterface({ input: child.stdout })
  const ready = once(lines, 'line')
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${name} ended before it was ready.`)
  })
  await Promise.race([ready, ended])
  ended.catch(() => {}) // It ends later, and has been reported.
  const url = `http://127.0.0.1:${port}`
  say(`${name}  ${url}  pid ${child.pid}`)
  return { name, region, url, child, mode: '' }
}

/** Prints each change of a region, as its instances report it. */
async function watch(members: readonly Member[], signal: AbortSignal, say: (text: string) => void): Promise<void> {
  while (!signal.aborted) {
    await Promise.all(members.map((member) => look(member, say)))
    await sleep(1_000, undefined, { signal }).catch(() => {}) // All have ended.
  }
}

async function look(member: Member, say: (text: string) => void): Promise<void> {
  if (!isRunning(member.child)) return
  const mode = await fetch(`${member.url}/readyz`, { signal: AbortSignal.timeout(2_000) })
    .then((answer) => answer.json() as Promise<{ readonly mode?: string }>)
    .then(
      (body) => body.mode?.split(':')[1] ?? '',
      () => '',
    ) // It stops, or does not answer yet.
  if (mode === '' || mode === member.mode) return
  member.mode = mode
  say(`${member.name} is ${mode}`)
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}
