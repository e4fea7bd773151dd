-- Health of OwnedAccessKey, DirectClusterEndpointToken, User, Team, AccessKeyClaim and Config in Argo CD. It
-- reports Healthy only for a status of the current generation.

-- A user wanted these ends: the object no longer works, and that is no fault.
local ended = { Expired = true, Disabled = true, Suspended = true }

local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local ready = conditions.Ready
local stalled = conditions.Stalled

if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "It is being deleted." }
end
-- The API server itself gives a new object observedGeneration -1.
if ready == nil or status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "The operator has not seen it yet." }
end
if ready.status == "True" then
  return { status = "Healthy", message = ready.message }
end
if ended[ready.reason] then
  return { status = "Suspended", message = ready.message }
end
-- A user must fix this state: it does not change by itself.
if stalled ~= nil and stalled.status == "True" then
  return { status = "Degraded", message = stalled.message }
end
return { status = "Progressing", message = ready.message }
