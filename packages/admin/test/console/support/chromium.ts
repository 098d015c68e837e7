/** Builds the console and starts one browser for all files of a run, before the first test. */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readRequirements } from '@waybill/test-support'
import { type BrowserServer, chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'

/** The browser of a run, or why there is none. */
export type ChromiumInRun = { readonly endpoint: string } | { readonly absent: string }

declare module 'vitest' {
  interface ProvidedContext {
    chromium: ChromiumInRun
  }
}

const buildProgram = join(import.meta.dirname, '..', '..', '..', '..', '..', 'scripts', 'build-console.ts')
/** The shell has no window to draw, which halves the time of a page. */
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await promisify(execFile)(process.execPath, [buildProgram])
  const executablePath = places.find((place) => existsSync(place))
  if (executablePath === undefined) {
    const absent = `no browser at ${places.join(', ')}: apt-get install chromium-headless-shell`
    if (readRequirements().names.includes('chromium')) throw new Error(`WAYBILL_REQUIRE names chromium: ${absent}`)
    process.stderr.write(`The console is not tried in a browser: ${absent}\n`)
    project.provide('chromium', { absent })
    return async () => {}
  }
  const server: BrowserServer = await chromium.launchServer({ executablePath, args: ['--no-sandbox'] })
  project.provide('chromium', { endpoint: server.wsEndpoint() })
  return () => server.close()
}
