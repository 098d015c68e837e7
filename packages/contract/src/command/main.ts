#!/usr/bin/env node
import { systemRuntime } from '@waybill/core'
import { runCommand } from './run-command.ts'

// A reader that closes the pipe early, such as `head`, has what it wants.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
const exitCode = await runCommand(process.argv.slice(2), {
  cwd: process.cwd(),
  today: new Date(systemRuntime.clock.now()).toISOString().slice(0, 10),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
// Modules of the user may keep connections open. Output that waits in a pipe is written first.
process.stdout.write('', () => process.exit(exitCode))
