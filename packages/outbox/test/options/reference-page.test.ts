import { join } from 'node:path'
import { listOptions } from '@waybill/core/option'
import { expect, test } from 'vitest'
import { modes, renderOutboxOptions } from './reference-page.ts'

const path = join(import.meta.dirname, '../../../../docs/reference/outbox-options.md')

test('the page of outbox options says what the rules say', async () => {
  await expect(renderOutboxOptions()).toMatchFileSnapshot(path)
})

test('the page leaves out no option of any mode', () => {
  const page = renderOutboxOptions()
  for (const [mode, rules] of Object.entries(modes))
    for (const row of listOptions(rules)) expect(page, `${mode} ${row.path}`).toContain(`\`${row.path}\``)
})
