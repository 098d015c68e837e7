import { createConnector } from '@waybill/connector'
import { noopLogger, runtimeWith } from '@waybill/core'
import { expect, test } from 'vitest'
import { createAdmin } from '../../src/mount/create-admin.ts'
import { apiTypes } from '../support/api-types.ts'

test('the types of the console are those of the API', async () => {
  const runtime = runtimeWith({ logger: noopLogger })
  const document = createAdmin({ connector: createConnector({ clusters: {}, runtime }), runtime }).openApi()
  await expect(apiTypes(document)).toMatchFileSnapshot('../../console/api/api-types.ts')
})
