export type { AdminAccess, AdminGrant, AdminIdentity } from './access/access.ts'
export type { AdminPermission } from './access/permission.ts'
export type { AdminRequest } from './http/admin-request.ts'
export type { AdminResponse } from './http/admin-response.ts'
