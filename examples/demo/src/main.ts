/** `npm run demo`: orders travel, one carrier fails, the process is killed, dead letters are replayed, and nothing is lost. */

import { isSound, tableOf } from './account-table.ts'
import { createNarrator, silentNarrator } from './narrator.ts'
import { type DemoOptions, readOptions, usage } from './options.ts'
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
  const startedAt = performance.now()
  const ending = await playStory(options, options.isJson ? silentNarrator : createNarrator(process.stdout))
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  process.stdout.write(options.isJson ? `${JSON.stringify({ ...ending.audit, seconds })}\n` : tableOf(ending, seconds))
  return isSound(ending.audit) ? 0 : 1
}
