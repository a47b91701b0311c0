Bquantized_linearJ@·Â	*ÀO/2BÈ‡-ÂjÅ
Â-e­@£”AÈ¡›A®­GÂƒÔÀ¹”@
$TÁt“¾AÇAYÚÿ@s&Á