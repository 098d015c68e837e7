/** docs/reference/headers.md against the code: operators must be able to look up every header they meet. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replayHeader } from '@waybill/core'
import * as core from '@waybill/core/internal'
import { describe, expect, test } from 'vitest'

const page = await readFile(join(import.meta.dirname, '../..', 'docs', 'reference', 'headers.md'), 'utf8')

const names = [
  core.eventHeader,
  core.traceHeader,
  core.cloudEventsHeader,
  core.originalHeader,
  core.retryHeader,
  core.deadLetterHeader,
  replayHeader,
  core.waitingHeader,
  core.deliveryHeader,
].flatMap((group) => Object.values(group))

describe('the page of headers', () => {
  test.each([...names, core.contentTypeHeader, core.processingAttemptsHeader])('explains %s', (name) => {
    expect(page).toContain(`\`${name}\``)
  })

  test.each(core.headerTrustTable.map((row) => [row.family, row] as const))(
    'says where %s headers are believed',
    (_, row) => {
      const words = { IGNORED: 'ignored', TRUSTED: 'believed', OWN_GROUP: 'own group' }
      const cells = [row.SOURCE, row.TIER, row.WAITING, row.DLT].map((trust) => words[trust])
      expect(page).toContain(`| ${[row.family, ...cells].join(' | ')} |`)
    },
  )
})
