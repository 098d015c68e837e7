/** `npm run demo`: orders are shipped, one carrier fails, the process is killed, dead letters are replayed, nothing is lost. */

import { describeThrown } from '@waybill/core'
import { isSound, tableOf } from './account-table.ts'
import { DemoFailure, DemoInterrupted } from './demo-failure.ts'
import { interruptedExitCode, listenForInterrupt } from './interrupt.ts'
import { createNarrator, silentNarrator } from './narrator.ts'
import { type DemoOptions, readOptions, usage } from './options.ts'
import { clearFolder, leftOf, openStage, type Stage } from './stage.ts'
import { playStory } from './story.ts'

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  let options: DemoOptions | undefined
  try {
    options = readOptions(args, process.env)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    return 2
  }
  if (options === undefined) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  if (options.hasConsole) return serveConsole(options.port)
  const stage = await openStage(options)
  using interrupt = listenForInterrupt(process, complain, () => leftOf(stage, options))
  const startedAt = performance.now()
  try {
    const narrator = options.isJson ? silentNarrator : createNarrator(process.stdout)
    const ending = await playStory(options, stage, narrator, interrupt.signal)
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    const log = await clearFolder(stage, !isSound(ending.audit))
    const text = options.isJson ? `${JSON.stringify({ ...ending.audit, seconds })}\n` : tableOf(ending, seconds)
    process.stdout.write(text)
    if (log !== undefined) complain(`The shop's log: ${log}`)
    return isSound(ending.audit) ? 0 : 1
  } catch (error) {
    return await reportFailure(error, stage)
  }
}

/** Serves the console until Ctrl-C. */
async function serveConsole(port: number): Promise<number> {
  const { runConsole } = await import('./console/run-console.ts')
  using interrupt = listenForInterrupt(process, complain, () => 'nothing: all of it is in memory')
  try {
    await runConsole(port, interrupt.signal, (url, fixShipping) => {
      process.stdout.write(`
  The console is at ${url}/
  Its binding shipping is broken: docs/how-to/use-the-console.md walks you through it.

  Enter brings its carriers back: that is the fix.
  Ctrl-C ends it.

`)
      process.stdin.once('data', () => {
        fixShipping()
        process.stdout.write('  All carriers answer again: replay the dead letters of shipping.\n')
      })
    })
    return 0
  } catch (error) {
    if (interrupt.signal.aborted) return 0
    complain(`The console failed: ${describeThrown(error)}`)
    return 1
  } finally {
    // It would keep the process alive.
    process.stdin.pause()
  }
}

/** Prints a failure as a sentence. The stack is in the shop's log. */
async function reportFailure(error: unknown, stage: Stage): Promise<number> {
  const isInterrupted = error instanceof DemoInterrupted
  const log = await clearFolder(stage, !isInterrupted)
  if (isInterrupted) {
    complain('The demo has ended.')
    return interruptedExitCode
  }
  complain(error instanceof DemoFailure ? error.message : `The demo failed: ${describeThrown(error)}`)
  if (log !== undefined) complain(`The shop's log: ${log}`)
  return 1
}

function complain(text: string): void {
  process.stderr.write(`\n${text}\n`)
}
