#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { systemRuntime } from '@waybill/core'
import { runAdminCommand } from './admin-command.ts'

const stopping = new AbortController()
// The second signal ends the process at once.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort())
process.exitCode = await runAdminCommand(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readFile: (path) => readFileSync(path, 'utf8'),
  runtime: systemRuntime,
  stop: stopping.signal,
})
